import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import type { Cancellation } from "../../../base/cancellation.ts";
import { GatewayError } from "../../../base/errors.ts";
import { http2Errors } from "../../../base/node_http2.ts";
import type { Body } from "../../body.ts";
import { fieldsByName } from "../../http2/http2_fields.ts";
import { malformed } from "../../http1/http_syntax_error.ts";
import type { ResponseMessage } from "../../message.ts";
import {
  type ConnectionContext,
  CONTINUE_WAIT_MS,
  MAX_INTERIM_RESPONSES,
} from "../connection.ts";
import type { Deadline } from "../../timer_wheel.ts";
import {
  type Http2BodyOwner,
  Http2ResponseBody,
} from "./http2_response_body.ts";
import {
  contentLengthOf,
  fieldsOf,
  requestFields,
  statusOf,
} from "./http2_client_fields.ts";
import { Upload, type UploadObserver } from "../http1/upload.ts";
import {
  cancellationError,
  connectionError,
  timedOut,
  UnansweredError,
} from "../upstream_errors.ts";
import type { UpstreamRequest } from "../upstream.ts";

/** RFC 9113 section 6.2. */
const END_STREAM = 1;

/** The connection whose stream an exchange uses. */
export interface StreamConnection {
  readonly context: ConnectionContext;
  /** Whether the upstream announced that it does not process that stream (RFC 9113 section 6.8). */
  ignores(streamId: number | undefined): boolean;
  /** The stream is closed. */
  release(): void;
}

/** One request and its response on a stream of an HTTP/2 connection. */
export class Http2Exchange implements Deadline, UploadObserver, Http2BodyOwner {
  dueAt = Infinity;
  readonly #connection: StreamConnection;
  readonly #request: UpstreamRequest;
  readonly #upload: Upload | undefined;
  readonly #stream: ClientHttp2Stream;
  readonly #response = Promise.withResolvers<ResponseMessage>();
  #unsubscribe: (() => void) | undefined;
  #stopWaiting: (() => void) | undefined;
  #body: Http2ResponseBody | undefined;
  #answered = false;
  #interims = 0;
  #failure: Error | undefined;

  /** @throws When the session cannot take the request. */
  constructor(
    connection: StreamConnection,
    session: ClientHttp2Session,
    request: UpstreamRequest,
    body: Body | undefined,
  ) {
    this.#connection = connection;
    this.#request = request;
    this.#upload = body === undefined
      ? undefined
      : new Upload(body, this, request.expectsContinue);
    const scheme = connection.context.options.tls === undefined
      ? "http"
      : "https";
    this.#stream = session.request(requestFields(request, body, scheme), {
      endStream: body === undefined,
      waitForTrailers: body !== undefined && body.length === undefined,
    });
    connection.context.wheel.add(this);
  }

  run(cancellation: Cancellation): Promise<ResponseMessage> {
    const stream = this.#stream;
    this.#onFields("response", (raw, flags) => this.#respond(raw, flags));
    this.#onFields("headers", (raw) => this.#readInterim(raw));
    this.#onFields("trailers", (raw) => this.#body?.setTrailers(raw));
    stream.on("continue", () => this.#upload?.release());
    stream.on("wantTrailers", () => this.#sendTrailers());
    stream.on("error", (error) => this.#failWith(error));
    stream.on("close", () => this.#closed());
    this.#unsubscribe = cancellation.onCancel((reason) =>
      this.#abort(cancellationError(reason))
    );
    if (this.#upload === undefined) this.#awaitHead();
    else void this.#sendBody(this.#upload);
    return this.#response.promise;
  }

  onDue(): void {
    const what = this.#answered ? "rest of the response" : "response";
    this.#abort(timedOut(`No ${what} from "${this.#endpoint}" in time`));
  }

  awaitingClient(): void {
    if (!this.#answered) this.#setDeadline(undefined);
  }

  awaitingUpstream(): void {
    if (!this.#answered) this.#setDeadline(this.#limits.idleTimeoutMs);
  }

  waitingForBody(): void {
    this.#setDeadline(this.#limits.idleTimeoutMs);
  }

  bodyArrived(): void {
    this.#setDeadline(undefined);
  }

  bodyEnded(): void {
    if (this.#upload?.ended === false) this.#reset(http2Errors.noError);
  }

  bodyAbandoned(reason: unknown): void {
    this.#failure ??= connectionError(this.#endpoint, reason);
    this.#reset(http2Errors.cancel);
  }

  bodyFailure(): Error {
    return this.#failure ??= this.#lost(undefined);
  }

  get #endpoint(): string {
    return this.#connection.context.endpoint;
  }

  get #limits() {
    return this.#connection.context.options;
  }

  async #sendBody(upload: Upload): Promise<void> {
    if (this.#request.expectsContinue) this.#awaitContinue(upload);
    try {
      for (;;) {
        const chunk = await upload.read();
        if (chunk === undefined) break;
        await this.#write(chunk);
      }
      this.#stream.end();
      this.#awaitHead();
    } catch (error) {
      const failure = upload.failure;
      if (failure === undefined) upload.cancel(error);
      else this.#abort(cancellationError(failure));
    }
  }

  /** Resolves when the session has taken the bytes, which are ours only until the next read. */
  #write(chunk: Uint8Array): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onClose = () => reject(new Error("The stream was closed"));
    this.#stream.once("close", onClose);
    this.#stream.write(chunk, (error) => {
      this.#stream.off("close", onClose);
      if (error) reject(error);
      else resolve();
    });
    return promise;
  }

  #sendTrailers(): void {
    const trailers = this.#upload?.trailers;
    try {
      this.#stream.sendTrailers(trailers ? fieldsByName(trailers) : {});
    } catch (cause) {
      this.#abort(
        new GatewayError(
          "bad_request",
          "downstream",
          `Cannot send the trailers to "${this.#endpoint}" in HTTP/2`,
          { cause },
        ),
      );
    }
  }

  #awaitContinue(upload: Upload): void {
    const { clock } = this.#connection.context;
    const release = () => upload.release();
    this.#stopWaiting = clock.setTimer(release, CONTINUE_WAIT_MS);
  }

  #awaitHead(): void {
    if (!this.#answered) this.#setDeadline(this.#limits.firstByteTimeoutMs);
  }

  /** Listens to an event that brings fields; malformed ones end the exchange. */
  #onFields(
    event: "response" | "headers" | "trailers",
    handle: (raw: readonly string[], flags: number) => void,
  ): void {
    this.#stream.on(event, (_: unknown, flags: number, raw: string[]) => {
      try {
        handle(raw, flags);
      } catch (error) {
        this.#abort(connectionError(this.#endpoint, error));
      }
    });
  }

  #readInterim(raw: readonly string[]): void {
    if (++this.#interims > MAX_INTERIM_RESPONSES) {
      throw malformed("Too many interim responses");
    }
    const status = statusOf(raw);
    if (status === 100) this.#upload?.release();
    else this.#request.sendInformational(status, fieldsOf(raw));
  }

  #respond(raw: readonly string[], flags: number): void {
    const status = statusOf(raw);
    const headers = fieldsOf(raw);
    const length = contentLengthOf(headers);
    this.#answered = true;
    this.#stopWaiting?.();
    this.#setDeadline(undefined);
    if (status >= 300) this.#stopSending();
    if ((flags & END_STREAM) === 0) {
      this.#body = new Http2ResponseBody(this.#stream, length, this);
    } else {
      this.#stream.resume();
      this.bodyEnded();
    }
    this.#response.resolve({ status, headers, body: this.#body });
  }

  /** Whoever refuses a request has no use for the rest of it. */
  #stopSending(): void {
    this.#upload?.cancel("The upstream has answered");
  }

  #closed(): void {
    this.#stopWaiting?.();
    this.#unsubscribe?.();
    this.#connection.context.wheel.delete(this);
    if (!this.#answered) this.#response.reject(this.#unanswered());
    this.#upload?.cancel(this.#failure ?? "The upstream stream was closed");
    this.#body?.closed();
    this.#connection.release();
  }

  #unanswered(): Error {
    if (this.#failure !== undefined) return this.#failure;
    const refused = this.#stream.rstCode === http2Errors.refusedStream ||
      this.#connection.ignores(this.#stream.id);
    if (this.#upload?.started) return this.#lost(undefined);
    return new UnansweredError(refused, `No answer from "${this.#endpoint}"`);
  }

  #lost(cause: unknown): Error {
    return connectionError(
      this.#endpoint,
      cause ?? new Error(`The stream was reset: ${this.#stream.rstCode}`),
    );
  }

  #failWith(error: Error): void {
    const { rstCode } = this.#stream;
    if (rstCode === http2Errors.refusedStream) return;
    this.#failure ??= rstCode === http2Errors.protocolError
      ? connectionError(this.#endpoint, malformed(error.message))
      : this.#lost(error);
  }

  #abort(failure: Error): void {
    this.#failure ??= failure;
    this.#reset(http2Errors.cancel);
  }

  #reset(code: number): void {
    if (!this.#stream.closed) this.#stream.close(code);
    // Else the stream would wait until somebody reads what it holds.
    this.#stream.destroy();
  }

  #setDeadline(delayMs: number | undefined): void {
    if (this.#stream.destroyed) return;
    this.#connection.context.wheel.set(this, delayMs);
  }
}
