import type { Cancellation } from "../../../base/cancellation.ts";
import { GatewayError } from "../../../base/errors.ts";
import type { Body } from "../../body.ts";
import { type BodyOwner, FramedBody } from "../../http1/framed_body.ts";
import { responseFraming } from "../../http1/framing.ts";
import type { InputBuffer } from "../../http1/input_buffer.ts";
import type { ResponseHead } from "../../http1/head_parser.ts";
import { takeConnectionFields } from "../../hop_by_hop.ts";
import { HttpSyntaxError, malformed } from "../../http1/http_syntax_error.ts";
import type { MessageWriter } from "../../http1/message_writer.ts";
import type { ResponseMessage, Tunnel } from "../../message.ts";
import {
  type ConnectionContext,
  CONTINUE_WAIT_MS,
  MAX_HEAD_BYTES,
  MAX_INTERIM_RESPONSES,
} from "../connection.ts";
import { keepAliveMs } from "../keep_alive.ts";
import { isStream, wantsStream } from "../streams.ts";
import { requestHead } from "./request_head.ts";
import { ResponseHeadReader } from "./response_head_reader.ts";
import { Upload, type UploadObserver } from "./upload.ts";
import {
  cancellationError,
  connectionError,
  timedOut,
  UnansweredError,
} from "../upstream_errors.ts";
import type { UpstreamRequest } from "../upstream.ts";

/** The connection that an exchange runs on. */
export interface ExchangeConnection {
  readonly input: InputBuffer;
  /** Reads more into `input`; returns `false` when the upstream closed its side. */
  fill(): Promise<boolean>;
  readonly context: ConnectionContext;
  readonly writer: MessageWriter;
  /** Sets the time limit of the current wait; `undefined` removes it. */
  setDeadline(delayMs: number | undefined): void;
  /** Completes the exchange; the connection may be reused within `keepMs`. */
  release(keepMs: number): void;
  /** Converts the connection to a tunnel; it stays open until the tunnel is closed. */
  detach(): Tunnel;
  close(): void;
}

/**
 * A request and its response on an HTTP/1.1 connection.
 *
 * Reads the response while it writes the request, as an upstream may respond before it has read the body.
 */
export class Http1ClientExchange implements BodyOwner, UploadObserver {
  readonly #connection: ExchangeConnection;
  readonly #request: UpstreamRequest;
  readonly #upload: Upload | undefined;
  readonly #reader: ResponseHeadReader;
  readonly #unsubscribe: () => void;
  #sending: Promise<void> | undefined;
  #sent = false;
  /** The final head has arrived. */
  #responded = false;
  #isStream = false;
  #keepMs: number | undefined;
  #stopWaiting: (() => void) | undefined;
  #failure: Error | undefined;

  constructor(
    connection: ExchangeConnection,
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ) {
    this.#connection = connection;
    this.#request = request;
    this.#reader = new ResponseHeadReader(connection.input);
    this.#upload = body === undefined
      ? undefined
      : new Upload(body, this, request.expectsContinue);
    this.#unsubscribe = cancellation.onCancel((reason) =>
      this.#abort(cancellationError(reason))
    );
  }

  async run(): Promise<ResponseMessage> {
    try {
      this.#sending = this.#send();
      for (let interim = 0;;) {
        const head = this.#reader.take();
        if (head === undefined) {
          this.#reader.filled(await this.#connection.fill());
        } else if (head.status >= 200 || head.status === 101) {
          return this.#respond(head);
        } else if (interim++ === MAX_INTERIM_RESPONSES) {
          throw malformed("Too many interim responses");
        } else {
          this.#passOn(head);
        }
      }
    } catch (error) {
      throw this.#fail(error);
    }
  }

  onDue(): void {
    const { input } = this.#connection;
    // The body is not late while nobody reads it.
    if (this.#responded && !input.isFilling) return;
    const missing = this.#responded ? "rest of the response" : "response";
    this.#abort(timedOut(`No ${missing} from "${this.#endpoint}" in time`));
  }

  connectionClosed(): void {
    this.#stopWaiting?.();
    this.#unsubscribe();
    this.#upload?.cancel(this.#failure ?? "The upstream connection was closed");
  }

  awaitingClient(): void {
    if (!this.#responded) this.#connection.setDeadline(undefined);
  }

  awaitingUpstream(): void {
    if (!this.#responded) {
      this.#connection.setDeadline(this.#limits.idleTimeoutMs);
    }
  }

  waitingForBody(): void {
    const { idleTimeoutMs, streamTimeouts } = this.#limits;
    const limitMs = this.#isStream && streamTimeouts !== undefined
      ? streamTimeouts.idleMs
      : idleTimeoutMs;
    if (limitMs !== undefined) this.#connection.setDeadline(limitMs);
  }

  bodyEnded(): void {
    if (this.#sent) {
      this.#complete();
    } else if (this.#upload?.ended ?? true) {
      // The last write is in progress.
      this.#sending?.then(() => this.#complete());
    } else {
      this.#connection.close();
    }
  }

  bodyAbandoned(reason: unknown): void {
    this.#failure ??= connectionError(this.#endpoint, reason);
    this.#connection.close();
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

  async #send(): Promise<void> {
    const { text, framing } = requestHead(this.#request, this.#upload);
    if (this.#upload === undefined) this.#awaitHead();
    else if (this.#request.expectsContinue) this.#awaitContinue(this.#upload);
    try {
      await this.#connection.writer.writeMessage(text, this.#upload, framing);
      this.#sent = true;
      if (this.#upload !== undefined && !this.#responded) this.#awaitHead();
    } catch (error) {
      this.#sendFailed(error);
    }
  }

  /** Handles a failed write. An error of the body ends the exchange; after one of the upstream, a response may still explain it. */
  #sendFailed(error: unknown): void {
    if (this.#upload?.failure !== undefined) {
      this.#abort(cancellationError(this.#upload.failure));
    } else if (error instanceof RangeError) {
      this.#abort(
        new GatewayError("internal", "gateway", "Cannot send the request", {
          cause: error,
        }),
      );
    } else {
      this.#upload?.cancel(error);
      this.#awaitHead();
    }
  }

  #awaitHead(): void {
    if (this.#responded) return;
    const { firstByteTimeoutMs, streamTimeouts } = this.#limits;
    this.#connection.setDeadline(
      streamTimeouts !== undefined && wantsStream(this.#request)
        ? streamTimeouts.firstByteMs
        : firstByteTimeoutMs,
    );
  }

  #awaitContinue(upload: Upload): void {
    const { clock } = this.#connection.context;
    this.#stopWaiting = clock.setTimer(
      () => upload.release(),
      CONTINUE_WAIT_MS,
    );
  }

  #passOn({ status, headers }: ResponseHead): void {
    if (status === 100) {
      this.#upload?.release();
    } else {
      takeConnectionFields(headers);
      this.#request.sendInformational(status, headers);
    }
  }

  #respond(head: ResponseHead): ResponseMessage {
    const { status, headers, minorVersion } = head;
    this.#responded = true;
    this.#stopWaiting?.();
    this.#connection.setDeadline(undefined);
    if (status === 101) return this.#openTunnel(head);
    this.#isStream = isStream(headers);
    const framing = responseFraming(
      headers,
      status,
      this.#request.method,
      minorVersion,
    );
    const keepAlive = headers.get("keep-alive");
    const connection = takeConnectionFields(headers);
    this.#keepMs = framing === "until-close"
      ? undefined
      : keepAliveMs(minorVersion, connection, keepAlive);
    if (status >= 300 && !this.#sent) this.#stopSending();
    if (framing === 0) {
      this.bodyEnded();
      return { status, headers, body: undefined };
    }
    const body = new FramedBody(
      this.#connection.input,
      framing,
      this,
      MAX_HEAD_BYTES,
    );
    return { status, headers, body };
  }

  /** Stops the upload: an upstream that rejects a request ignores the rest of it (RFC 9112 section 9.6). */
  #stopSending(): void {
    if (this.#upload?.ended === false) {
      this.#upload.cancel("The upstream has responded");
    }
  }

  #openTunnel({ status, headers }: ResponseHead): ResponseMessage {
    if (this.#request.upgrade === undefined) {
      throw malformed(
        "The upstream switched protocols without a request to upgrade",
      );
    }
    takeConnectionFields(headers);
    const tunnel = this.#connection.detach();
    return { status, headers, body: undefined, tunnel };
  }

  #complete(): void {
    this.#unsubscribe();
    const clean = this.#sent && this.#connection.input.available === 0;
    if (!clean || this.#keepMs === undefined) this.#connection.close();
    else this.#connection.release(this.#keepMs);
  }

  #abort(failure: Error): void {
    this.#failure ??= failure;
    this.#connection.close();
  }

  #fail(error: unknown): Error {
    this.#failure ??= this.#isUnanswered(error)
      ? new UnansweredError(false, `No response from "${this.#endpoint}"`, {
        cause: error,
      })
      : connectionError(this.#endpoint, error);
    this.#connection.close();
    return this.#failure;
  }

  #isUnanswered(error: unknown): boolean {
    if (error instanceof GatewayError || error instanceof HttpSyntaxError) {
      return false;
    }
    return !this.#reader.started && !this.#upload?.started;
  }
}
