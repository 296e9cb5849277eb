import { GatewayError } from "../../../base/errors.ts";
import { type BodyOwner, FramedBody } from "../../http1/framed_body.ts";
import type { RequestHead } from "../../http1/head_parser.ts";
import type { HeaderList } from "../../header_list.ts";
import type { Reply, ResponseMessage } from "../../message.ts";
import type { DownstreamConnection } from "./downstream_connection.ts";
import { requestPace } from "../contract/server_options.ts";
import type { TransferPace } from "../contract/transfer_pace.ts";
import { Http1Request } from "./http1_request.ts";
import {
  clientGone,
  handlerFailed,
  responseComplete,
  slowBody,
  StalledClientError,
  toRequestError,
} from "../contract/request_error.ts";
import { informationalHead, prepareResponse } from "./response_head.ts";
import { SWITCHING_PROTOCOLS, switchProtocols } from "./switch_protocols.ts";

const CONTINUE = 100;

/** A request and its response on an HTTP/1.x connection. */
export class Http1ServerExchange implements BodyOwner {
  readonly request: Http1Request;
  readonly #downstream: DownstreamConnection;
  readonly #body: FramedBody | undefined;
  #bodyState: "open" | "ended" | "abandoned" = "ended";
  #response: ResponseMessage | undefined;
  #continued = false;
  #skipping = false;
  #finished = false;
  #interim: Promise<void> | undefined;
  /** Set by the first wait for the body. */
  #pace: TransferPace | undefined;
  /** Reason why the exchange was aborted. */
  #failure: GatewayError | undefined;
  #stopGrace: (() => void) | undefined;

  /** @throws {GatewayError | HttpSyntaxError} When the request is invalid. */
  constructor(head: RequestHead, downstream: DownstreamConnection) {
    this.#downstream = downstream;
    this.request = new Http1Request(head, downstream.client, this);
    const { framing } = this.request;
    if (framing === 0) return;
    this.#bodyState = "open";
    this.request.body = this.#body = new FramedBody(
      downstream.input.buffer,
      framing,
      this,
      downstream.context.limits.maxHeaderBytes,
    );
  }

  /** Handles the request and sends the response; resolves with whether the connection can serve another request. */
  async run(): Promise<boolean> {
    const downstream = this.#downstream;
    downstream.bytesSent = 0;
    if (this.#bodyState === "ended") downstream.input.readAhead();
    let reply: Reply;
    try {
      const handled = downstream.context.handler(this.request);
      reply = handled instanceof Promise ? await handled : handled;
    } catch (error) {
      downstream.context.report(error);
      const response = downstream.context.reject(handlerFailed(error));
      reply = { response, finished: () => {} };
    }
    let persists = false;
    let error: unknown;
    try {
      persists = await this.#send(reply.response);
      if (this.#failure !== undefined) throw this.#failure;
    } catch (thrown) {
      error = this.#failure ??
        (downstream.transport.broken ? clientGone(thrown) : thrown);
      downstream.close();
      reply.response.body?.cancel(error);
      reply.response.tunnel?.transport.close();
    }
    this.#finished = true;
    this.#stopGrace?.();
    reply.finished({ bytesSent: downstream.bytesSent, error });
    return persists && (this.#bodyState === "ended" || await this.#skipBody());
  }

  /** Handles a half-closed connection: the client may still read the response, so it gets a grace period. */
  clientEnded(): void {
    if (this.#finished) return;
    const { bytesSent, context } = this.#downstream;
    const { halfCloseGraceMs, departureGraceMs } = context.limits;
    const grace = this.request.persists ? departureGraceMs : halfCloseGraceMs;
    this.#stopGrace = context.clock.setTimer(() => {
      if (this.#downstream.bytesSent > bytesSent) this.clientEnded();
      else this.#giveUp("Cannot respond: the client disconnected");
    }, grace);
  }

  /** Handles a failed client connection. */
  clientLost(error: unknown): void {
    this.cut(toRequestError(error));
  }

  /** Aborts the exchange: handler, body and outcome receive `failure` as the reason. */
  cut(failure: GatewayError): void {
    this.#failure ??= failure;
    this.request.cancellation.cancel(this.#failure);
    this.#downstream.close();
    this.#response?.body?.cancel(this.#failure);
    this.#response?.tunnel?.transport.close();
  }

  /** Handles a client that did not send its body in time. */
  readExpired(): void {
    if (this.#skipping || this.#response !== undefined) {
      return this.#downstream.close();
    }
    const failure = slowBody(this.#paced);
    this.#failure = failure;
    this.request.cancellation.cancel(failure);
    // Responds immediately, independent of the handler's progress.
    void this.#downstream.reject(failure).finally(() =>
      this.#downstream.close()
    );
  }

  /** Handles a client that did not read the response in time. */
  writeExpired(): void {
    this.cut(new StalledClientError(this.#downstream.pace.problem));
  }

  sendInformational(status: number, headers: HeaderList): void {
    const isInterim = status > SWITCHING_PROTOCOLS && status < 200;
    if (!isInterim || this.request.version === "1.0") return;
    void this.#sendInterim(informationalHead(status, headers));
  }

  waitingForBody(): void | Promise<void> {
    // After an early response the body has no deadline.
    if (this.#response !== undefined) return;
    this.#downstream.transport.limitRead(this.#paced.wait());
    if (!this.request.expectsContinue || this.#continued) return;
    this.#continued = true;
    return this.#sendInterim(informationalHead(CONTINUE, undefined));
  }

  bodyArrived(count: number): void {
    this.#pace?.moved(count);
  }

  bodyEnded(): void {
    this.#bodyState = "ended";
    this.#downstream.input.buffer.shrink();
    this.#downstream.input.readAhead();
  }

  bodyAbandoned(): void {
    this.#bodyState = "abandoned";
  }

  translateBodyError(error: unknown): Error {
    return this.#failure ?? toRequestError(error);
  }

  async #send(response: ResponseMessage): Promise<boolean> {
    const downstream = this.#downstream;
    if (this.#interim !== undefined) await this.#interim;
    if (this.#failure !== undefined) throw this.#failure;
    this.#response = response;
    if (response.status === SWITCHING_PROTOCOLS) {
      const cut = (reason: GatewayError) => this.cut(reason);
      await switchProtocols(downstream, this.request, response, cut);
      return false;
    }
    const { head, body, framing, persists } = prepareResponse(response, {
      request: this.request,
      persists: this.#mayPersist(),
      date: downstream.context.date(),
    });
    downstream.bytesSent = await downstream.writer.writeMessage(
      head,
      body,
      framing,
      downstream.countBytes,
    );
    if (framing === "none") body?.cancel("there is no body in this response");
    return persists;
  }

  #mayPersist(): boolean {
    const { input, retiring, context } = this.#downstream;
    if (!this.request.persists || retiring || !input.open) return false;
    if (this.#bodyState !== "open") return this.#bodyState === "ended";
    // Without a 100 response, the client may or may not send the body.
    if (this.request.expectsContinue && !this.#continued) return false;
    const length = this.#body?.length ?? 0;
    return length <= context.limits.maxDrainBytes;
  }

  /** Discards the rest of a short body to reach the next request. */
  async #skipBody(): Promise<boolean> {
    const body = this.#body;
    if (body === undefined || this.#bodyState !== "open") return false;
    if (body.started) {
      // A reader may still hold a view of the buffer.
      body.cancel(responseComplete());
      return false;
    }
    this.#skipping = true;
    return await this.#downstream.skip(body);
  }

  #sendInterim(head: string): Promise<void> {
    const previous = this.#interim ?? Promise.resolve();
    if (this.#response !== undefined || this.#failure !== undefined) {
      return previous;
    }
    // An error here occurs again with the response.
    return this.#interim = previous
      .then(() => this.#downstream.writer.writeMessage(head, undefined, "none"))
      .then(() => {}, () => {});
  }

  get #paced(): TransferPace {
    return this.#pace ??= requestPace(this.#downstream.context);
  }

  #giveUp(message: string): void {
    this.cut(new GatewayError("client_closed", "downstream", message));
  }
}
