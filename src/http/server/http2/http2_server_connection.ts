import type { GatewayError } from "../../../base/errors.ts";
import type { FieldBlock } from "../../http2/hpack/header_decoder.ts";
import { Http2StreamError } from "../../http2/frames/http2_error.ts";
import { ERROR_CODES } from "../../http2/frames/http2_protocol.ts";
import { Http2Session } from "../../http2/http2_session.ts";
import type { SessionOwner } from "../../http2/session_options.ts";
import type { Http2Stream } from "../../http2/http2_stream.ts";
import type { RequestMessage } from "../../message.ts";
import type { Deadline } from "../../timer_wheel.ts";
import type { Peer, Transport } from "../../transport.ts";
import { GuardedTransport } from "../accept/guarded_transport.ts";
import type { OpenConnection } from "../contract/open_connection.ts";
import { StalledClientError } from "../contract/request_error.ts";
import {
  type Client,
  responsePace,
  type ServerContext,
} from "../contract/server_options.ts";
import type { TransferPace } from "../contract/transfer_pace.ts";
import { Http2ServerExchange } from "./http2_server_exchange.ts";

/** Receive window for the body of one request. */
const STREAM_WINDOW = 128 * 1024;
/** Receive window for all bodies of a connection. */
const CONNECTION_WINDOW = 2 * 1024 * 1024;
/** Time-out for the client's acknowledgement of the settings. */
const SETTINGS_TIMEOUT_MS = 10_000;
/** Pseudo-header fields, which count as fields in HTTP/2. */
const PSEUDO_FIELDS = 5;
/** Time for requests in flight that the client sent before it received GOAWAY. */
const IN_FLIGHT_MS = 1000;
const NEVER = Infinity;

/** Serves one HTTP/2 connection of a client. */
export class Http2ServerConnection
  implements OpenConnection, Deadline, SessionOwner {
  readonly protocol = "h2";
  readonly openedAt: number;
  readonly #session: Http2Session;
  readonly #transport: GuardedTransport;
  readonly #pace: TransferPace;
  readonly #client: Client;
  readonly #context: ServerContext;
  readonly #exchanges = new Set<Http2ServerExchange>();
  /** Requests of the current batch of frames. */
  #fresh: Http2ServerExchange[] = [];
  readonly #idle = Promise.withResolvers<void>();
  #endReason: string | undefined;
  /** True if requests were cut: `run` then awaits their outcome. */
  #wasCut = false;
  /** True if the connection ends after the requests in progress. */
  #isRetiring = false;
  #stopWaiting: (() => void) | undefined;
  /** Idle deadline. */
  dueAt = NEVER;
  /** Deadline of the preface, or of a header block. */
  readonly #head: Deadline = { dueAt: NEVER, onDue: () => this.#headExpired() };
  /** Deadline for the client to acknowledge the settings, or to close the connection. */
  readonly #reply: Deadline = {
    dueAt: NEVER,
    onDue: () => this.#replyExpired(),
  };

  constructor(transport: Transport, client: Client, context: ServerContext) {
    const { wheel, limits, clock } = context;
    this.#client = client;
    this.#context = context;
    this.openedAt = clock.monotonic();
    this.#pace = responsePace(context);
    this.#transport = new GuardedTransport(transport, {
      wheel,
      pace: this.#pace,
      readExpired: () => {},
      writeExpired: () => this.#writeExpired(),
    });
    this.#session = new Http2Session(this.#transport, {
      isServer: true,
      maxStreams: limits.maxConcurrentStreams,
      limits: {
        maxBytes: limits.maxHeaderBytes,
        maxFields: limits.maxHeaderCount + PSEUDO_FIELDS,
      },
      streamWindow: STREAM_WINDOW,
      connectionWindow: CONNECTION_WINDOW,
      maxResets: () => context.limits.maxStreamResets,
      now: () => clock.monotonic(),
    }, this);
  }

  get endReason(): string {
    return this.#endReason ?? this.#session.error?.message ?? "client closed";
  }

  get peer(): Peer {
    return this.#client.peer;
  }

  get activeRequests(): number {
    return this.#exchanges.size;
  }

  get requests(): readonly RequestMessage[] {
    return [...this.#exchanges].flatMap(({ request }) => request ?? []);
  }

  /**
   * Serves until the connection is closed, and requests that were cut have ended. Never throws.
   * @param early Bytes that were already read from the transport.
   */
  async run(early?: Uint8Array): Promise<void> {
    const { wheel, limits } = this.#context;
    const deadlines = [this, this.#head, this.#reply];
    this.#transport.watch();
    for (const deadline of deadlines) wheel.add(deadline);
    wheel.set(this, limits.keepAliveTimeoutMs);
    wheel.set(this.#head, limits.requestHeadersTimeoutMs);
    wheel.set(this.#reply, SETTINGS_TIMEOUT_MS);
    await this.#session.run(early);
    this.#transport.unwatch();
    for (const deadline of deadlines) wheel.delete(deadline);
    this.#stopWaiting?.();
    if (this.#wasCut && this.#exchanges.size > 0) await this.#idle.promise;
  }

  announceEnd(): void {
    this.retire();
  }

  /** Asks the client to send no further requests (GOAWAY), and closes after those in progress. */
  retire(): void {
    if (this.#isRetiring) return;
    this.#isRetiring = true;
    this.#endReason ??= "draining";
    this.#session.announceGoAway();
    this.#stopWaiting = this.#context.clock.setTimer(
      () => this.goAwayHeard(),
      IN_FLIGHT_MS,
    );
  }

  /** Cuts the connection; requests in progress fail with `reason`. */
  close(reason?: GatewayError): void {
    this.#endReason ??= "cut";
    if (reason !== undefined) {
      this.#wasCut = true;
      for (const exchange of this.#exchanges) exchange.cut(reason);
    }
    this.#session.destroy(reason ?? new Error("The connection was cut"));
  }

  onDue(): void {
    if (this.#exchanges.size > 0) return;
    this.#endReason ??= "idle timeout";
    this.retire();
  }

  streamOpened(stream: Http2Stream, block: FieldBlock): void {
    const exchange = new Http2ServerExchange(
      stream,
      block,
      this.#client,
      this.#context,
    );
    stream.owner = exchange;
    this.#fresh.push(exchange);
  }

  /** Starts the requests of a batch, except those that the client reset in the same batch (CVE-2023-44487). */
  batchHandled(): void {
    this.#limitHead();
    if (this.#fresh.length === 0) return;
    const fresh = this.#fresh;
    this.#fresh = [];
    for (const exchange of fresh) {
      if (!exchange.stream.isClosed) this.#begin(exchange);
    }
    this.#endIfDone();
  }

  ending(): void {
    const { wheel, limits } = this.#context;
    wheel.set(this.#reply, limits.lingerTimeoutMs);
  }

  failed(error: unknown): void {
    this.#context.report(error);
  }

  settingsReceived(): void {}

  /** Called when the client sends no further requests. */
  goAwayReceived(): void {
    this.#isRetiring = true;
    this.#session.stopAccepting();
    this.#endIfDone();
  }

  goAwayHeard(): void {
    if (!this.#isRetiring) return;
    this.#stopWaiting?.();
    this.#session.stopAccepting();
    this.#endIfDone();
  }

  /** Starts a request. It counts until its handler is done, even if the client resets it: it may still occupy an upstream. */
  #begin(exchange: Http2ServerExchange): void {
    const { stream } = exchange;
    if (this.#exchanges.size >= this.#context.limits.maxConcurrentStreams) {
      const busy = new Error("Too many requests are under way");
      return stream.reset(ERROR_CODES.refusedStream, busy);
    }
    try {
      exchange.open();
    } catch (error) {
      if (error instanceof Http2StreamError) {
        return this.#session.failStream(error);
      }
      throw error;
    }
    this.#exchanges.add(exchange);
    void exchange.run().then(() => this.#finished(exchange));
  }

  #finished(exchange: Http2ServerExchange): void {
    const { wheel, limits } = this.#context;
    this.#exchanges.delete(exchange);
    if (this.#exchanges.size > 0) return;
    if (!this.#transport.closed) wheel.set(this, limits.keepAliveTimeoutMs);
    if (this.#session.isEnding) this.#idle.resolve();
    else this.#endIfDone();
  }

  #endIfDone(): void {
    const isDone = this.#isRetiring && this.#exchanges.size === 0 &&
      this.#fresh.length === 0;
    if (isDone && !this.#session.acceptsStreams) {
      this.#session.end(new Error("The connection has ended"));
    }
  }

  #limitHead(): void {
    const { wheel, limits } = this.#context;
    if (!this.#session.isInsideHead) this.#head.dueAt = NEVER;
    else if (this.#head.dueAt === NEVER) {
      wheel.set(this.#head, limits.requestHeadersTimeoutMs);
    }
  }

  #headExpired(): void {
    this.#endReason ??= "request timeout";
    const late = new Error("A header block did not arrive in time");
    this.#session.end(late, ERROR_CODES.protocolError);
  }

  #replyExpired(): void {
    if (this.#session.isEnding) return this.close();
    if (this.#session.isAcknowledged) return;
    this.#endReason ??= "settings timeout";
    const late = new Error("The settings were not acknowledged in time");
    this.#session.end(late, ERROR_CODES.settingsTimeout);
  }

  #writeExpired(): void {
    this.#endReason ??= "write timeout";
    this.close(new StalledClientError(this.#pace.problem));
  }
}
