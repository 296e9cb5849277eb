import { GatewayError } from "../../../base/errors.ts";
import type { HeaderList } from "../../header_list.ts";
import { HttpSyntaxError } from "../../http1/http_syntax_error.ts";
import type { FieldBlock } from "../../http2/hpack/header_decoder.ts";
import { Http2StreamError } from "../../http2/frames/http2_error.ts";
import { ERROR_CODES } from "../../http2/frames/http2_protocol.ts";
import type { Http2Stream, StreamOwner } from "../../http2/http2_stream.ts";
import { readTrailers } from "../../http2/message_fields.ts";
import { StreamBody, type StreamBodyOwner } from "../../http2/stream_body.ts";
import type { Outcome, Reply, ResponseMessage } from "../../message.ts";
import type { Deadline } from "../../timer_wheel.ts";
import { SWITCHING_PROTOCOLS } from "../http1/switch_protocols.ts";
import {
  badRequest,
  clientGone,
  handlerFailed,
  responseComplete,
  slowBody,
  StalledClientError,
  toRequestError,
} from "../contract/request_error.ts";
import type { TransferPace } from "../contract/transfer_pace.ts";
import {
  type Client,
  requestPace,
  type ServerContext,
} from "../contract/server_options.ts";
import { TunnelLimits } from "../contract/tunnel_limits.ts";
import { describeFields, Http2Request } from "./http2_request.ts";
import { Http2ResponseWriter } from "./http2_response_writer.ts";
import { noWebSocket } from "./http2_tunnel.ts";

const CONTINUE = "100";
const NEVER = Infinity;

/** One request and its response on an HTTP/2 stream. */
export class Http2ServerExchange
  implements StreamOwner, StreamBodyOwner, Deadline {
  readonly #stream: Http2Stream;
  readonly #block: FieldBlock;
  readonly #client: Client;
  readonly #context: ServerContext;
  readonly #writer: Http2ResponseWriter;
  #request: Http2Request | undefined;
  /** Error of a request that was rejected before the handler saw it. */
  #rejection: GatewayError | undefined;
  #body: StreamBody | undefined;
  #trailers: HeaderList | undefined;
  #response: ResponseMessage | undefined;
  #continued = false;
  #done = false;
  /** Error that ended the exchange. */
  #failure: GatewayError | undefined;
  /** Deadline for the client to send more of the body. */
  dueAt = NEVER;
  /** Set by the first wait for the body. */
  #pace: TransferPace | undefined;
  #onClosed: (() => void) | undefined;

  constructor(
    stream: Http2Stream,
    block: FieldBlock,
    client: Client,
    context: ServerContext,
  ) {
    this.#stream = stream;
    this.#block = block;
    this.#client = client;
    this.#context = context;
    this.#writer = new Http2ResponseWriter(
      stream,
      context,
      (problem) => this.cut(new StalledClientError(problem)),
    );
  }

  get stream(): Http2Stream {
    return this.#stream;
  }

  /** The request; `undefined` when the header block is invalid. */
  get request(): Http2Request | undefined {
    return this.#request;
  }

  /**
   * Interprets the header block; call `run` next.
   * @throws {Http2StreamError} If the request is malformed: it was reported, and the caller resets the stream.
   */
  open(): void {
    const { reject, report } = this.#context;
    try {
      this.#openRequest();
    } catch (error) {
      if (error instanceof Http2StreamError) {
        const rejection = badRequest(error.message);
        this.#reportRejection(rejection, reject(rejection).status, 0);
        throw error;
      }
      if (error instanceof GatewayError || error instanceof HttpSyntaxError) {
        this.#rejection = toRequestError(error);
      } else {
        report(error);
        this.#rejection = handlerFailed(error);
      }
    }
  }

  /** Handles the request and writes the response. Never throws. */
  async run(): Promise<void> {
    const reply = await this.#handle();
    let error: unknown;
    try {
      await this.#send(reply.response);
      if (this.#failure !== undefined) throw this.#failure;
      this.#done = true;
    } catch (thrown) {
      error = this.#failure ??
        (this.#stream.isClosed ? clientGone(thrown) : thrown);
      this.#done = true;
      this.#stream.reset(ERROR_CODES.internalError, asError(thrown));
      reply.response.body?.cancel(error);
      reply.response.tunnel?.transport.close();
    }
    reply.finished({ bytesSent: this.#writer.bytesSent, error });
    if (!this.#stream.isClosed) await this.#drainBody();
  }

  onDue(): void {
    if (this.#done) {
      return this.#stream.reset(ERROR_CODES.noError, responseComplete());
    }
    this.#body?.cancel(slowBody(this.#paced));
  }

  sendInformational(status: number, headers: HeaderList): void {
    const isInterim = status > SWITCHING_PROTOCOLS && status < 200;
    if (!isInterim || this.#response !== undefined || this.#done) return;
    this.#writer.writeInterim(String(status), headers);
  }

  fieldsReceived(block: FieldBlock, endStream: boolean): void {
    const { id } = this.#stream;
    const trailers = readTrailers(id, block);
    if (!endStream) {
      const problem = "Trailers do not end the stream";
      throw new Http2StreamError(id, ERROR_CODES.protocolError, problem);
    }
    this.#trailers = trailers;
    if (this.#body !== undefined) this.#body.trailers = trailers;
  }

  bodyReceived(): void {
    this.#body?.wake();
  }

  streamClosed(error: Error | undefined): void {
    if (error !== undefined && !this.#done) {
      this.cut(clientClosed("Cannot respond: the client disconnected"));
    }
    this.#body?.wake();
    this.#context.wheel.delete(this);
    this.#context.wheel.delete(this.#writer);
    this.#onClosed?.();
  }

  waitingForBody(): void {
    // After an early response, the client may send at any rate.
    if (this.#response !== undefined) return;
    this.#limitReadAt(this.#paced.wait());
    if (!this.#request?.expectsContinue || this.#continued) return;
    this.#continued = true;
    this.#writer.writeInterim(CONTINUE);
  }

  bodyArrived(count: number): void {
    this.dueAt = NEVER;
    this.#pace?.moved(count);
  }

  bodyEnded(): void {}

  /** Does nothing: the rest of the body is dropped after the response. */
  bodyAbandoned(): void {}

  translateBodyError(error: unknown): Error {
    if (this.#failure !== undefined) return this.#failure;
    if (error instanceof Http2StreamError) return badRequest(error.message);
    return clientClosed("Cannot read the body: the client reset the stream");
  }

  /** Ends the exchange: handler, body and outcome get `failure` as the reason. */
  cut(failure: GatewayError): void {
    this.#failure ??= failure;
    this.#request?.cancellation.cancel(this.#failure);
    this.#body?.cancel(this.#failure);
    this.#stream.reset(ERROR_CODES.cancel, this.#failure);
    this.#response?.body?.cancel(this.#failure);
    this.#response?.tunnel?.transport.close();
  }

  #openRequest(): void {
    const stream = this.#stream;
    const client = this.#client;
    const request = new Http2Request(stream.id, this.#block, client, this);
    const { contentLength, upgrade } = request;
    if (contentLength !== undefined) stream.expectLength(contentLength);
    this.#request = request;
    const isEmpty = stream.remoteEnded && stream.received === 0 &&
      this.#trailers === undefined;
    if (isEmpty && upgrade === undefined) return;
    this.#body = new StreamBody(stream, contentLength, this);
    this.#body.trailers = this.#trailers;
    if (upgrade === undefined) request.body = this.#body;
  }

  async #handle(): Promise<Reply> {
    const { handler, reject, report } = this.#context;
    const rejection = this.#rejection;
    if (rejection !== undefined || this.#request === undefined) {
      const error = rejection ?? badRequest("Cannot read the request");
      const response = reject(error);
      const finished = ({ bytesSent }: Outcome) =>
        this.#reportRejection(error, response.status, bytesSent);
      return { response, finished };
    }
    try {
      return await handler(this.#request);
    } catch (error) {
      report(error);
      return { response: reject(handlerFailed(error)), finished: () => {} };
    }
  }

  #reportRejection(
    error: GatewayError,
    status: number,
    bytesSent: number,
  ): void {
    this.#context.observer.requestRejected({
      error,
      source: this.#client.peer,
      ...describeFields(this.#block.fields),
      status,
      bytesSent,
    });
  }

  async #send(response: ResponseMessage): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#response = response;
    const request = this.#request;
    if (response.tunnel !== undefined) {
      const cut = (error: GatewayError) => this.cut(error);
      using limits = new TunnelLimits(this.#context, cut);
      await this.#writer.relay(response, request, this.#body, limits);
    } else if (request?.upgrade !== undefined && response.status < 300) {
      await this.#writer.write(this.#rejectUpgrade(response), request);
    } else await this.#writer.write(response, request);
  }

  /** Replaces 2xx without a tunnel, with which the client would assume an open WebSocket (RFC 8441 section 4). */
  #rejectUpgrade({ status, body }: ResponseMessage): ResponseMessage {
    const error = noWebSocket(status);
    body?.cancel(error);
    return this.#context.reject(error);
  }

  /** Drains an unread upload for a while: clients may treat a reset as a failure of the response. */
  async #drainBody(): Promise<void> {
    const { wheel, limits } = this.#context;
    this.#limitReadAt(wheel.after(limits.lingerTimeoutMs));
    this.#body?.cancel(responseComplete());
    this.#stream.discard();
    await new Promise<void>((resolve) => this.#onClosed = resolve);
  }

  #limitReadAt(dueAt: number): void {
    if (this.#stream.isClosed) return;
    this.#context.wheel.add(this);
    this.#context.wheel.setAt(this, dueAt);
  }

  get #paced(): TransferPace {
    return this.#pace ??= requestPace(
      this.#context,
      this.#request?.isGrpc !== true,
    );
  }
}

function clientClosed(message: string): GatewayError {
  return new GatewayError("client_closed", "downstream", message);
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
