import type { Cancellation } from "../../../base/cancellation.ts";
import { GatewayError } from "../../../base/errors.ts";
import type { Body } from "../../body.ts";
import { ERROR_CODES } from "../../http2/frames/http2_protocol.ts";
import { Http2Session } from "../../http2/http2_session.ts";
import type { SessionOwner } from "../../http2/session_options.ts";
import type { Http2Stream } from "../../http2/http2_stream.ts";
import type { ResponseMessage } from "../../message.ts";
import type { Transport } from "../../transport.ts";
import {
  type Connection,
  type ConnectionContext,
  MAX_HEAD_BYTES,
  MAX_HEAD_FIELDS,
  MAX_IDLE_MS,
} from "../connection.ts";
import type { Deadline } from "../../timer_wheel.ts";
import { UnansweredError } from "../upstream_errors.ts";
import type { UpstreamRequest } from "../upstream.ts";
import {
  Http2ClientExchange,
  type StreamConnection,
} from "./http2_client_exchange.ts";

/** Concurrent streams if the upstream sets no limit. */
const DEFAULT_MAX_STREAMS = 100;
/** Limit of concurrent streams, which bounds the memory for slow clients whatever the upstream allows. */
const MAX_STREAMS = 256;
/** Receive window of one body: enough for a fast network, and the memory that a slow client can occupy. */
const WINDOW_BYTES = 256 * 1024;
/** Time-out for the final GOAWAY. */
const GOAWAY_MS = 1000;

/**
 * Opens an HTTP/2 connection on a connected transport.
 * @throws If the upstream does not speak HTTP/2, or `signal` aborts.
 */
export async function connectHttp2(
  transport: Transport,
  context: ConnectionContext,
  signal: AbortSignal,
): Promise<Connection> {
  const connection = new Http2ClientConnection(transport, context);
  const onAbort = () => connection.close();
  signal.addEventListener("abort", onAbort);
  try {
    await connection.ready;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
  return connection;
}

/** An HTTP/2 connection with as many concurrent requests as the upstream allows. */
class Http2ClientConnection
  implements Connection, StreamConnection, SessionOwner, Deadline {
  readonly isShared = true;
  active = 0;
  served = 0;
  dueAt = Infinity;
  readonly context: ConnectionContext;
  readonly #session: Http2Session;
  readonly #over: Promise<void>;
  readonly #ready = Promise.withResolvers<void>();
  #isReady = false;
  #draining = false;
  #closed = false;

  constructor(transport: Transport, context: ConnectionContext) {
    this.context = context;
    this.#session = new Http2Session(transport, {
      isServer: false,
      maxStreams: 0,
      limits: { maxBytes: MAX_HEAD_BYTES, maxFields: MAX_HEAD_FIELDS },
      streamWindow: WINDOW_BYTES,
      // The sum of all stream windows, so that streams do not block each other.
      connectionWindow: MAX_STREAMS * WINDOW_BYTES,
      maxResets: () => Infinity,
      now: () => context.clock.monotonic(),
    }, this);
    context.wheel.add(this);
    this.#over = this.#session.run().then(() => this.#sessionEnded());
  }

  /** Resolves when the upstream's settings have arrived; rejects if the connection ends before. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  reserve(): boolean {
    this.active++;
    this.context.wheel.set(this, undefined);
    return this.#hasRoom;
  }

  async send(
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    this.served++;
    const exchange = this.#open(request, body);
    return await exchange.run(cancellation);
  }

  release(): void {
    const wasFull = !this.#hasRoom;
    this.active--;
    if (this.#closed) return;
    if (this.active === 0) {
      if (this.#draining) this.close();
      else this.context.wheel.set(this, MAX_IDLE_MS);
    }
    if (wasFull && !this.#draining) this.context.onAvailable(this);
  }

  retire(): void {
    this.#draining = true;
    this.context.onDraining(this);
    if (this.active === 0) this.close();
  }

  onDue(): void {
    if (this.active === 0) this.close();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const { context } = this;
    const failure = new Error("The connection was closed");
    this.#ready.reject(failure);
    context.wheel.delete(this);
    this.#session.end(failure);
    const stop = context.clock.setTimer(
      () => this.#session.destroy(failure),
      GOAWAY_MS,
    );
    void this.#over.then(stop);
    if (this.#isReady) context.onClosed(this);
  }

  settingsReceived(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.context.wheel.set(this, MAX_IDLE_MS);
    this.#ready.resolve();
  }

  /** Rejects streams of the upstream, since push is disabled. */
  streamOpened(stream: Http2Stream): void {
    stream.reset(ERROR_CODES.refusedStream, new Error("Push is disabled"));
  }

  batchHandled(): void {}

  goAwayReceived(): void {
    this.retire();
  }

  goAwayHeard(): void {}

  ending(): void {}

  failed(error: unknown): void {
    this.#ready.reject(error);
  }

  #sessionEnded(): void {
    const { error } = this.#session;
    if (error !== undefined) this.#ready.reject(notHttp2(this.context, error));
    this.close();
  }

  #open(request: UpstreamRequest, body: Body | undefined): Http2ClientExchange {
    const { endpoint } = this.context;
    if (request.upgrade !== undefined) {
      this.release();
      throw new GatewayError(
        "bad_request",
        "downstream",
        `Cannot upgrade the HTTP/2 connection to "${endpoint}"`,
      );
    }
    if (this.#session.isEnding) {
      this.release();
      this.retire();
      throw new UnansweredError(true, `Lost the connection to "${endpoint}"`);
    }
    const stream = this.#session.openStream();
    if (!this.#session.streams.hasOwnLeft) this.retire();
    return new Http2ClientExchange(this, stream, request, body);
  }

  get #hasRoom(): boolean {
    const maxStreams = this.#session.maxOwnStreams;
    return this.active <
      Math.min(maxStreams ?? DEFAULT_MAX_STREAMS, MAX_STREAMS);
  }
}

function notHttp2(context: ConnectionContext, cause: unknown): GatewayError {
  return new GatewayError(
    "upstream_protocol_error",
    "upstream",
    `Cannot speak HTTP/2 with "${context.endpoint}"`,
    { cause },
  );
}
