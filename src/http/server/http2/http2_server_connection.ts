import type {
  Http2Server,
  ServerHttp2Session,
  ServerHttp2Stream,
} from "node:http2";
import type { Duplex } from "node:stream";
import { destroyLater } from "../../http2/http2_session.ts";
import type { RequestMessage } from "../../message.ts";
import type { Peer } from "../../transport.ts";
import type { GatewayError } from "../../../base/errors.ts";
import { http2Errors, nodeHttp2 } from "../../../base/node_http2.ts";
import type { Client, ServerContext, ServerLimits } from "../server_options.ts";
import { Http2Exchange } from "./http2_server_exchange.ts";
import type { OpenConnection } from "../open_connection.ts";
import type { Deadline } from "../../timer_wheel.ts";

/** RFC 9113 section 6.2. */
const END_STREAM = 0x1;
const RESET_WINDOW_MS = 10_000;

/** Makes what `Http2Connection` speaks HTTP/2 with; one for all connections. */
export function createHttp2Engine(limits: ServerLimits): Http2Server {
  return nodeHttp2().createServer({
    settings: {
      enablePush: false,
      maxConcurrentStreams: limits.maxConcurrentStreams,
      maxHeaderListSize: limits.maxHeaderBytes,
    },
    maxHeaderListPairs: limits.maxHeaderCount + 8,
  });
}

/** Serves one client's connection of HTTP/2. */
export class Http2Connection implements OpenConnection, Deadline {
  readonly protocol = "h2";
  readonly openedAt: number;
  readonly #session: ServerHttp2Session;
  readonly #client: Client;
  readonly #context: ServerContext;
  readonly #exchanges = new Set<Http2Exchange>();
  dueAt = Infinity;
  readonly #idle = Promise.withResolvers<void>();
  #endReason: string | undefined;
  /** Whether requests were cut: then somebody waits for their outcome. */
  #cut = false;
  #resets = 0;
  #resetsForgottenAt = 0;

  constructor(
    engine: Http2Server,
    stream: Duplex,
    client: Client,
    context: ServerContext,
  ) {
    this.#client = client;
    this.#context = context;
    this.openedAt = context.clock.monotonic();
    this.#session = openSession(engine, stream);
    this.#session.on(
      "stream",
      (
        stream: ServerHttp2Stream,
        _headers: unknown,
        flags: number,
        fields: readonly string[],
      ) => void this.#serve(stream, fields, (flags & END_STREAM) === 0),
    );
    // `close` follows and tells the same.
    this.#session.on("error", () => {});
    stream.on("error", () => {});
    stream.on("end", () => this.#session.destroy());
  }

  get endReason(): string {
    return this.#endReason ?? "client closed";
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

  /** Serves until the connection is closed, and requests that were cut are over. Never throws. */
  async run(): Promise<void> {
    const { wheel } = this.#context;
    wheel.add(this);
    this.#awaitRequest();
    await new Promise<void>((resolve) => this.#session.once("close", resolve));
    wheel.delete(this);
    if (this.#cut && this.#exchanges.size > 0) await this.#idle.promise;
  }

  /** Tells the client to send no further requests (GOAWAY), and closes after those under way. */
  retire(): void {
    this.#endReason ??= "draining";
    if (!this.#session.closed) this.#session.close();
  }

  /** Cuts the connection; the requests under way fail with `reason`. */
  close(reason?: GatewayError): void {
    this.#endReason ??= "cut";
    if (reason !== undefined && !this.#session.destroyed) {
      this.#cut = true;
      for (const exchange of this.#exchanges) exchange.cut(reason);
    }
    this.#session.destroy();
  }

  onDue(): void {
    if (this.#exchanges.size > 0) return;
    this.#endReason ??= "idle timeout";
    this.retire();
  }

  async #serve(
    stream: ServerHttp2Stream,
    fields: readonly string[],
    hasBody: boolean,
  ): Promise<void> {
    // One read can bring a thousand more behind the reset that was too many.
    if (this.#resetsTooOften) return void stream.destroy();
    const exchange = new Http2Exchange(stream, this.#client, this.#context);
    this.#exchanges.add(exchange);
    stream.once("aborted", () => this.#countReset());
    await exchange.run(fields, hasBody);
    this.#exchanges.delete(exchange);
    if (this.#exchanges.size === 0 && this.#session.destroyed) {
      this.#idle.resolve();
    }
    this.#awaitRequest();
  }

  /** Requests that are taken back at once cost us more than the client (CVE-2023-44487). */
  #countReset(): void {
    const now = this.#context.clock.monotonic();
    if (now >= this.#resetsForgottenAt) {
      this.#resets = 0;
      this.#resetsForgottenAt = now + RESET_WINDOW_MS;
    }
    this.#resets++;
    if (!this.#resetsTooOften) return;
    this.#endReason ??= "too many resets";
    this.#session.destroy(undefined, http2Errors.enhanceYourCalm);
  }

  get #resetsTooOften(): boolean {
    return this.#resets > this.#context.limits.maxStreamResets;
  }

  #awaitRequest(): void {
    const { wheel, limits } = this.#context;
    if (!this.#session.destroyed) wheel.set(this, limits.keepAliveTimeoutMs);
  }
}

/** Node makes a session of whatever its server is told is a connection, and announces it at once. */
function openSession(engine: Http2Server, stream: Duplex): ServerHttp2Session {
  let session: ServerHttp2Session | undefined;
  engine.once("session", (opened) => {
    destroyLater(opened);
    session = opened;
  });
  engine.emit("connection", stream);
  if (session !== undefined) return session;
  throw new TypeError("Cannot open an HTTP/2 session: none was announced");
}
