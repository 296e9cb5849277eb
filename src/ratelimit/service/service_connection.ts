/**
 * Connection to a rate limit service.
 *
 * @module
 */
import type { EventEmitter } from "node:events";
import type { ClientHttp2Session } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import {
  checkServerIdentity,
  connect as connectTls,
  type ConnectionOptions,
  type PeerCertificate,
} from "node:tls";
import type { Clock } from "../../base/clock.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import { nodeHttp2 } from "../../base/wire/node_http2.ts";
import {
  formatAddress,
  type ServiceAddress,
  type ServiceTls,
} from "./service_address.ts";
import { CallTimeout, callUnary } from "./service_call.ts";
import {
  decodeResponse,
  encodeRequest,
  type ServiceRequest,
  type ServiceResponse,
} from "./service_messages.ts";

/** State of a connection; `failing` waits for the next attempt, at most a second. */
export type ConnectionState =
  | "idle"
  | "connecting"
  | "ready"
  | "failing"
  | "closed";

const METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
const CONNECT_TIMEOUT_MS = 1000;
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 1000;

/**
 * A connection without responses is replaced: the peer may be gone without closing it, which TCP detects only after a quarter of
 * an hour.
 */
const SILENT_CALLS = 10;
const SILENT_MS = 2000;

/** An attempt to open a session, and its result. */
interface Link {
  /** `undefined` while its address is looked up. */
  socket: Socket | undefined;
  session: Promise<ClientHttp2Session> | undefined;
}

/**
 * Calls a rate limit service. Connects on first use, and after a pause when the connection is lost; calls during the pause fail
 * immediately. Why this is not a gRPC library: docs/decisions/0022-own_grpc_client.md.
 */
export class ServiceConnection {
  readonly #address: ServiceAddress;
  readonly #clock: Clock;
  readonly #egress: EgressPolicy;
  readonly #sockets = new Set<Socket>();
  #link: Link | undefined;
  #state: ConnectionState = "idle";
  #lastError: unknown;
  #backoffMs = 0;
  #retryAt = 0;
  /** Calls without a response since the last response. */
  #silentCalls = 0;
  #silentSince = 0;

  /** Does not connect yet. */
  constructor(
    address: ServiceAddress,
    { clock, egress }: {
      readonly clock: Clock;
      /** Decides which addresses of the host it may connect to. */
      readonly egress: EgressPolicy;
    },
  ) {
    this.#address = address;
    this.#clock = clock;
    this.#egress = egress;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Connects before the first call; rejects when the service cannot be reached now. */
  async open(): Promise<void> {
    await this.#openSession();
  }

  /** Sends a request; rejects when no valid response arrives in time. */
  async call(
    request: ServiceRequest,
    timeoutMs: number,
  ): Promise<ServiceResponse> {
    try {
      const response = await callUnary({
        openSession: () => this.#openSession(),
        authority: this.#address.tls?.hostname ?? formatAddress(this.#address),
        path: METHOD,
        message: encodeRequest(request),
        timeoutMs,
        clock: this.#clock,
      });
      this.#silentCalls = 0;
      return decodeResponse(response);
    } catch (error) {
      if (error instanceof CallTimeout) this.#noteSilence(error);
      throw error;
    }
  }

  /** Closes the connection; calls in flight fail. */
  close(): void {
    this.#state = "closed";
    for (const socket of this.#sockets) socket.destroy();
  }

  #openSession(): Promise<ClientHttp2Session> {
    if (this.#state === "closed") {
      return Promise.reject(new Error("the connection is closed"));
    }
    if (this.#link?.session !== undefined) return this.#link.session;
    if (this.#clock.monotonic() < this.#retryAt) {
      return Promise.reject(this.#lastError);
    }
    this.#state = "connecting";
    const link: Link = { socket: undefined, session: undefined };
    this.#link = link;
    link.session = this.#startSession(link);
    return link.session;
  }

  async #connect(): Promise<Socket> {
    const { port, tls } = this.#address;
    const egress = this.#egress;
    const [host = this.#address.host] = egress.isLimited
      ? await egress.addressesOf(this.#address)
      : [];
    if (this.#state === "closed") throw new Error("the connection is closed");
    const socket = tls === undefined
      ? connectTcp({ host, port, noDelay: true })
      : connectTls({ host, port, ...tlsOptions(tls) });
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    return socket;
  }

  async #startSession(link: Link): Promise<ClientHttp2Session> {
    const { tls } = this.#address;
    const late = new Error("the service did not respond in time");
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    // Handled also when the socket fails first.
    timeout.catch(() => {});
    const cancelTimer = this.#clock.setTimer(() => {
      link.socket?.destroy(late);
      reject(late);
    }, CONNECT_TIMEOUT_MS);
    try {
      const connecting = this.#connect().then((socket) => {
        link.socket = socket;
        if (link !== this.#link) socket.destroy();
        return socket;
      });
      const socket = await Promise.race([connecting, timeout]);
      await untilEvent(socket, tls === undefined ? "connect" : "secureConnect");
      const session = nodeHttp2().connect(
        tls === undefined ? "http://service" : "https://service",
        { createConnection: () => socket },
      );
      session.on("error", (error) => this.#lose(link, error));
      session.once("goaway", () => this.#leave(link, session));
      session.once(
        "close",
        () => this.#lose(link, new Error("the connection was lost")),
      );
      await untilEvent(session, "remoteSettings");
      this.#state = "ready";
      this.#backoffMs = 0;
      return session;
    } catch (error) {
      this.#lose(link, error);
      throw error;
    } finally {
      cancelTimer();
    }
  }

  /** Handles GOAWAY: the service accepts no more calls on this connection and closes it after the last response. */
  #leave(link: Link, session: ClientHttp2Session): void {
    session.close();
    if (link !== this.#link) return;
    this.#link = undefined;
    if (this.#state !== "closed") this.#state = "idle";
  }

  #lose(link: Link, error: unknown): void {
    link.socket?.destroy();
    if (link !== this.#link) return;
    this.#link = undefined;
    this.#lastError = error;
    if (this.#state === "closed") return;
    this.#state = "failing";
    this.#retryAt = this.#clock.monotonic() + this.#backoffMs;
    this.#backoffMs = Math.min(
      MAX_BACKOFF_MS,
      Math.max(FIRST_BACKOFF_MS, this.#backoffMs * 2),
    );
  }

  #noteSilence(error: CallTimeout): void {
    const now = this.#clock.monotonic();
    if (this.#silentCalls++ === 0) this.#silentSince = now;
    if (this.#silentCalls < SILENT_CALLS) return;
    if (now - this.#silentSince < SILENT_MS) return;
    this.#silentCalls = 0;
    if (this.#link !== undefined) this.#lose(this.#link, error);
  }
}

/** Resolves with the event; rejects when the emitter fails or closes first. */
function untilEvent(
  emitter: Socket | ClientHttp2Session,
  name: string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const emitting: EventEmitter = emitter;
    emitting.once(name, () => resolve());
    // Not removed: an error without a listener ends the process.
    emitting.on("error", reject);
    emitting.once(
      "close",
      () => reject(new Error("the connection was closed")),
    );
  });
}

function tlsOptions(tls: ServiceTls): ConnectionOptions {
  const { hostname, caCertificates } = tls;
  return {
    servername: hostname,
    ALPNProtocols: ["h2"],
    checkServerIdentity: (_, certificate) => verifyName(tls, certificate),
    ...(caCertificates !== undefined && { ca: [...caCertificates] }),
  };
}

function verifyName(
  tls: ServiceTls,
  certificate: PeerCertificate,
): Error | undefined {
  const names = tls.subjectAltNames.length === 0
    ? [tls.hostname]
    : tls.subjectAltNames;
  const failures = names.map((name) => checkServerIdentity(name, certificate));
  return failures.includes(undefined) ? undefined : failures[0];
}
