import type { Cancellation } from "../../../base/cancellation.ts";
import type { Body } from "../../body.ts";
import { responseFraming } from "../../http1/framing.ts";
import { HttpSyntaxError } from "../../http1/http_syntax_error.ts";
import type { FieldBlock } from "../../http2/hpack/header_decoder.ts";
import { Http2StreamError } from "../../http2/frames/http2_error.ts";
import { ERROR_CODES } from "../../http2/frames/http2_protocol.ts";
import type { Http2Stream, StreamOwner } from "../../http2/http2_stream.ts";
import {
  readResponseFields,
  readTrailers,
  type ResponseFields,
} from "../../http2/message_fields.ts";
import { StreamBody, type StreamBodyOwner } from "../../http2/stream_body.ts";
import type { ResponseMessage } from "../../message.ts";
import {
  type ConnectionContext,
  CONTINUE_WAIT_MS,
  MAX_INTERIM_RESPONSES,
} from "../connection.ts";
import { isStream, wantsStream } from "../streams.ts";
import type { Deadline } from "../../timer_wheel.ts";
import { Upload, type UploadObserver } from "../http1/upload.ts";
import {
  cancellationError,
  connectionError,
  timedOut,
} from "../upstream_errors.ts";
import type { UpstreamRequest } from "../upstream.ts";
import { encodeRequest } from "./http2_request_head.ts";
import { streamFailure } from "./stream_failure.ts";

const nothing = new Uint8Array();

/** The connection whose stream an exchange uses. */
export interface StreamConnection {
  readonly context: ConnectionContext;
  /** Called when the stream is closed. */
  release(): void;
}

/** One request and its response on a stream of an HTTP/2 connection. */
export class Http2ClientExchange
  implements Deadline, UploadObserver, StreamOwner, StreamBodyOwner {
  dueAt = Infinity;
  readonly #connection: StreamConnection;
  readonly #stream: Http2Stream;
  readonly #request: UpstreamRequest;
  readonly #upload: Upload | undefined;
  readonly #response = Promise.withResolvers<ResponseMessage>();
  #unsubscribe: (() => void) | undefined;
  #stopWaiting: (() => void) | undefined;
  #body: StreamBody | undefined;
  #answered = false;
  #interims = 0;
  #isStream = false;
  #failure: Error | undefined;

  constructor(
    connection: StreamConnection,
    stream: Http2Stream,
    request: UpstreamRequest,
    body: Body | undefined,
  ) {
    this.#connection = connection;
    this.#stream = stream;
    this.#request = request;
    this.#upload = body === undefined
      ? undefined
      : new Upload(body, this, request.expectsContinue);
    stream.owner = this;
    connection.context.wheel.add(this);
  }

  run(cancellation: Cancellation): Promise<ResponseMessage> {
    const { tls } = this.#limits;
    const upload = this.#upload;
    this.#unsubscribe = cancellation.onCancel((reason) =>
      this.#abort(cancellationError(reason))
    );
    this.#stream.sendFields(
      (encoder) =>
        encodeRequest(
          encoder,
          this.#request,
          upload,
          tls === undefined ? "http" : "https",
        ),
      upload === undefined,
    );
    if (upload === undefined) this.#awaitHead();
    else void this.#sendBody(upload);
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

  fieldsReceived(block: FieldBlock, endStream: boolean): void {
    const { id } = this.#stream;
    if (block.isTooLarge) {
      const tooLarge = new HttpSyntaxError(
        "too_large",
        "The head is too large",
      );
      return this.#abort(connectionError(this.#endpoint, tooLarge));
    }
    if (this.#answered) {
      if (!endStream) throw this.#malformed("Trailers do not end the stream");
      const trailers = readTrailers(id, block);
      if (this.#body !== undefined) this.#body.trailers = trailers;
      return;
    }
    const response = readResponseFields(id, block);
    if (response.status >= 200) this.#respond(response, endStream);
    else if (endStream) {
      throw this.#malformed("An interim response is the last");
    } else this.#passInterim(response);
  }

  bodyReceived(): void {
    if (this.#body !== undefined) return this.#body.wake();
    if (!this.#answered && !this.#stream.isClosed) {
      throw this.#malformed("The body comes before its head");
    }
    if (this.#stream.remoteEnded) this.bodyEnded();
  }

  streamClosed(error: Error | undefined): void {
    this.#stopWaiting?.();
    this.#unsubscribe?.();
    this.#connection.context.wheel.delete(this);
    const fault = error ??
      (this.#answered ? undefined : this.#malformed("There was no head"));
    if (fault !== undefined) {
      const isTouched = this.#answered || this.#upload?.started === true;
      this.#failure ??= streamFailure(this.#endpoint, fault, isTouched);
      if (!this.#answered) this.#response.reject(this.#failure);
    }
    this.#upload?.cancel(this.#failure ?? "The upstream stream was closed");
    this.#body?.wake();
    this.#connection.release();
  }

  waitingForBody(): void {
    const { idleTimeoutMs, streamTimeouts } = this.#limits;
    this.#setDeadline(
      this.#isStream && streamTimeouts !== undefined
        ? streamTimeouts.idleMs
        : idleTimeoutMs,
    );
  }

  bodyArrived(): void {
    this.#setDeadline(undefined);
  }

  /** Resets the stream after the complete response: the upstream does not need the rest of the request. */
  bodyEnded(): void {
    if (this.#upload?.ended !== false) return;
    this.#stream.reset(ERROR_CODES.noError, new Error("The response is whole"));
  }

  bodyAbandoned(reason: unknown): void {
    this.#abort(connectionError(this.#endpoint, reason));
  }

  translateBodyError(error: unknown): Error {
    return this.#failure ??= connectionError(this.#endpoint, error);
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
      for (let sent = 0;;) {
        const next = upload.read();
        const chunk = next instanceof Promise ? await next : next;
        if (chunk === undefined) break;
        sent += chunk.length;
        const written = this.#stream.send(chunk, sent === upload.length);
        if (written !== undefined) await written;
      }
      await this.#endBody(upload);
      this.#awaitHead();
    } catch (error) {
      const { failure } = upload;
      if (failure === undefined) upload.cancel(error);
      else this.#abort(cancellationError(failure));
    }
  }

  async #endBody({ trailers }: Upload): Promise<void> {
    if (this.#stream.localEnded) return;
    if (trailers === undefined) return await this.#stream.send(nothing, true);
    this.#stream.sendFields((encoder) => encoder.fields(trailers), true);
  }

  #awaitContinue(upload: Upload): void {
    const { clock } = this.#connection.context;
    const release = () => upload.release();
    this.#stopWaiting = clock.setTimer(release, CONTINUE_WAIT_MS);
  }

  #awaitHead(): void {
    if (this.#answered) return;
    const { firstByteTimeoutMs, streamTimeouts } = this.#limits;
    this.#setDeadline(
      streamTimeouts !== undefined && wantsStream(this.#request)
        ? streamTimeouts.firstByteMs
        : firstByteTimeoutMs,
    );
  }

  #passInterim({ status, headers }: ResponseFields): void {
    if (++this.#interims > MAX_INTERIM_RESPONSES) {
      throw this.#malformed("Too many interim responses");
    }
    if (status === 101) throw this.#malformed("HTTP/2 switches no protocols");
    if (status === 100) this.#upload?.release();
    else this.#request.sendInformational(status, headers);
  }

  #respond({ status, headers }: ResponseFields, endStream: boolean): void {
    const { method } = this.#request;
    const length = this.#lengthOf({ status, headers }, method);
    if (length !== undefined) this.#stream.expectLength(length);
    this.#answered = true;
    this.#isStream = isStream(headers);
    this.#stopWaiting?.();
    this.#setDeadline(undefined);
    if (status >= 300) this.#stopSending();
    if (!endStream && length !== 0) {
      this.#body = new StreamBody(this.#stream, length, this);
    }
    this.#response.resolve({ status, headers, body: this.#body });
  }

  /** Returns the length of the body: 0 when there is none, `undefined` when it is unknown. */
  #lengthOf(
    { status, headers }: ResponseFields,
    method: string,
  ): number | undefined {
    try {
      const framing = responseFraming(headers, status, method, 1);
      return typeof framing === "number" ? framing : undefined;
    } catch (error) {
      if (error instanceof HttpSyntaxError) {
        throw this.#malformed(error.message);
      }
      throw error;
    }
  }

  /** Cancels the upload after an error response, since the upstream will not read it. */
  #stopSending(): void {
    this.#upload?.cancel("The upstream has responded");
  }

  #abort(failure: Error): void {
    this.#failure ??= failure;
    this.#stream.reset(ERROR_CODES.cancel, failure);
  }

  #malformed(message: string): Http2StreamError {
    const { id } = this.#stream;
    return new Http2StreamError(id, ERROR_CODES.protocolError, message);
  }

  #setDeadline(delayMs: number | undefined): void {
    if (this.#stream.isClosed) return;
    this.#connection.context.wheel.set(this, delayMs);
  }
}
