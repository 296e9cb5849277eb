import { Buffer } from "node:buffer";
import type { ServerHttp2Stream } from "node:http2";
import { GatewayError } from "../../../base/errors.ts";
import { http2Errors } from "../../../base/node_http2.ts";
import type { Body } from "../../body.ts";
import type { HeaderList } from "../../header_list.ts";
import { HttpSyntaxError } from "../../http1/http_syntax_error.ts";
import type { Outcome, Reply, ResponseMessage } from "../../message.ts";
import type { Deadline } from "../../timer_wheel.ts";
import type { Client, ServerContext } from "../server_options.ts";
import {
  incomingTrailers,
  outgoingFields,
  outgoingTrailers,
} from "./http2_server_fields.ts";
import { describeFields, Http2Request } from "./http2_request.ts";
import { type Http2BodyOwner, Http2RequestBody } from "./http2_request_body.ts";
import {
  badRequest,
  clientGone,
  handlerFailed,
  responseComplete,
  StalledClientError,
  toRequestError,
} from "../request_error.ts";
import { hasNoBody, setFraming } from "../http1/response_head.ts";

const CONTINUE = 100;
const NEVER = Infinity;

/** One request and its response on a stream of HTTP/2. */
export class Http2Exchange implements Http2BodyOwner {
  readonly #stream: ServerHttp2Stream;
  readonly #client: Client;
  readonly #context: ServerContext;
  #request: Http2Request | undefined;
  #body: Http2RequestBody | undefined;
  #response: ResponseMessage | undefined;
  #continued = false;
  #done = false;
  #bytesSent = 0;
  /** Why the exchange was given up. */
  #failure: GatewayError | undefined;
  readonly #read: Deadline = { dueAt: NEVER, onDue: () => this.#readExpired() };
  readonly #write: Deadline = {
    dueAt: NEVER,
    onDue: () => this.cut(new StalledClientError()),
  };
  readonly #closed = Promise.withResolvers<void>();
  #failWrite: ((reason: GatewayError) => void) | undefined;

  constructor(
    stream: ServerHttp2Stream,
    client: Client,
    context: ServerContext,
  ) {
    this.#stream = stream;
    this.#client = client;
    this.#context = context;
    context.wheel.add(this.#write);
    context.wheel.add(this.#read);
    stream.on("close", () => {
      context.wheel.delete(this.#write);
      context.wheel.delete(this.#read);
      this.#closed.resolve();
      if (!this.#done) this.#giveUp("Cannot answer: the client is gone");
    });
    // `close` follows and tells the same.
    stream.on("error", () => {});
  }

  /** `undefined` while its head is read, and when that is no request. */
  get request(): Http2Request | undefined {
    return this.#request;
  }

  /** Has the request of that header block handled and delivers the reply. Never throws. */
  async run(fields: readonly string[], hasBody: boolean): Promise<void> {
    const reply = await this.#handle(fields, hasBody);
    let error: unknown;
    try {
      await this.#send(reply.response);
      this.#done = true;
    } catch (thrown) {
      error = this.#failure ??
        (this.#stream.destroyed ? clientGone(thrown) : thrown);
      this.#done = true;
      this.#reset(thrown);
      reply.response.body?.cancel(error);
    }
    reply.finished({ bytesSent: this.#bytesSent, error });
    await this.#dismissBody();
  }

  #readExpired(): void {
    if (this.#done) this.#stream.close(http2Errors.noError);
    this.#body?.cancel(
      new GatewayError(
        "request_timeout",
        "downstream",
        "Cannot read the body: the client sent nothing",
      ),
    );
  }

  sendInformational(status: number, headers: HeaderList): void {
    const isInterim = status > 101 && status < 200;
    if (!isInterim || this.#response !== undefined || this.#done) return;
    this.#stream.additionalHeaders(outgoingFields(status, headers));
  }

  waitingForBody(): void {
    // Behind an early response the client sends when it likes.
    if (this.#response !== undefined) return;
    const { wheel, limits } = this.#context;
    wheel.set(this.#read, limits.bodyIdleTimeoutMs);
    if (!this.#request?.expectsContinue || this.#continued) return;
    this.#continued = true;
    this.#stream.additionalHeaders({ ":status": CONTINUE });
  }

  bodyArrived(): void {
    this.#read.dueAt = NEVER;
  }

  async #handle(
    fields: readonly string[],
    hasBody: boolean,
  ): Promise<Reply> {
    const { handler, reject, report, observer } = this.#context;
    try {
      const request = this.#open(fields, hasBody);
      return await handler(request);
    } catch (error) {
      const isRefusal = error instanceof GatewayError ||
        error instanceof HttpSyntaxError;
      if (!isRefusal) {
        report(error);
        return { response: reject(handlerFailed(error)), finished: () => {} };
      }
      const refusal = toRequestError(error);
      const response = reject(refusal);
      const finished = ({ bytesSent }: Outcome) =>
        observer.requestRefused({
          error: refusal,
          source: this.#client.peer,
          ...describeFields(fields),
          status: response.status,
          bytesSent,
        });
      return { response, finished };
    }
  }

  #open(fields: readonly string[], hasBody: boolean): Http2Request {
    const request = new Http2Request(fields, this.#client, this);
    this.#request = request;
    const { contentLength } = request;
    if (!hasBody && (contentLength ?? 0) > 0) {
      throw badRequest("Cannot read the body: it is shorter than announced");
    }
    if (!hasBody) return request;
    const body = new Http2RequestBody(this.#stream, contentLength, this);
    this.#stream.on("trailers", (trailers) => {
      body.trailers = incomingTrailers(trailers);
    });
    request.body = this.#body = body;
    return request;
  }

  async #send(response: ResponseMessage): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#response = response;
    const { body, headers } = response;
    const method = this.#request?.sentMethod;
    setFraming(response, method);
    if (!headers.has("date")) headers.append("date", this.#context.date());
    const fields = outgoingFields(response.status, headers);
    if (body === undefined || hasNoBody(response, method)) {
      this.#stream.respond(fields, { endStream: true });
      body?.cancel("there is no body in this response");
      return;
    }
    const mayHaveTrailers = body.length === undefined &&
      this.#request?.acceptsTrailers === true;
    this.#stream.respond(fields, { waitForTrailers: mayHaveTrailers });
    await this.#sendBody(body);
  }

  async #sendBody(body: Body): Promise<void> {
    for (;;) {
      const chunk = await body.read();
      if (chunk === undefined) break;
      // Node keeps what it is given until the client's window opens, the body only until the next read.
      const copy = Buffer.from(chunk);
      await this.#written((done) => this.#stream.write(copy, done));
      this.#bytesSent += chunk.length;
    }
    if (body.length !== undefined && body.length !== this.#bytesSent) {
      throw new RangeError(
        `Cannot finish the response: expected ${body.length} bytes, got ${this.#bytesSent}`,
      );
    }
    this.#stream.once("wantTrailers", () => this.#sendTrailers(body));
    await this.#written((done) => this.#stream.end(done));
  }

  #sendTrailers({ trailers }: Body): void {
    try {
      this.#stream.sendTrailers(trailers ? outgoingTrailers(trailers) : {});
    } catch (cause) {
      this.#failWrite?.(
        new GatewayError(
          "upstream_protocol_error",
          "upstream",
          "Cannot send the trailers in HTTP/2",
          { cause },
        ),
      );
    }
  }

  /** Lets an upload that nobody reads run out, for a while: a reset would overtake the response. */
  async #dismissBody(): Promise<void> {
    if (this.#body === undefined || this.#body.ended) return;
    const { wheel, limits } = this.#context;
    wheel.set(this.#read, limits.lingerTimeoutMs);
    this.#body.cancel(responseComplete());
    this.#stream.resume();
    if (!this.#stream.destroyed) await this.#closed.promise;
  }

  async #written(write: (done: () => void) => void): Promise<void> {
    const { wheel, limits } = this.#context;
    wheel.set(this.#write, limits.writeTimeoutMs);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#failWrite = reject;
        if (this.#failure !== undefined) reject(this.#failure);
        else write(resolve);
      });
    } finally {
      this.#write.dueAt = NEVER;
      this.#failWrite = undefined;
    }
  }

  #giveUp(message: string): void {
    this.cut(new GatewayError("client_closed", "downstream", message));
  }

  /** Gives the exchange up: the handler, the body and the outcome get `failure` as the reason. */
  cut(failure: GatewayError): void {
    this.#failure ??= failure;
    this.#request?.cancellation.cancel(this.#failure);
    this.#body?.cancel(this.#failure);
    this.#failWrite?.(this.#failure);
    this.#reset(this.#failure);
    this.#response?.body?.cancel(this.#failure);
  }

  /** Cuts the stream. Deno's `close` with a code would end the body as if it were complete; an error resets it. */
  #reset(reason: unknown): void {
    if (this.#stream.destroyed) return;
    this.#stream.destroy(
      reason instanceof Error ? reason : new Error(String(reason)),
    );
  }
}
