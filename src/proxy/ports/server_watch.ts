import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log, LogFields } from "../../base/log/log.ts";
import type {
  HandshakeFailure,
  RejectedConnection,
  RejectedRequest,
  ServerObserver,
} from "../../http/server/contract/observer.ts";
import type { Peer } from "../../http/transport.ts";
import { pathOf } from "../../route/normalize_target.ts";
import type { FinishedRequest } from "../../telemetry/log/finished_request.ts";
import type { TrafficMetrics } from "../../telemetry/metrics/gateway_metrics.ts";

const QUIET_MS = 1000;

/** Dependencies of a server watch. */
export interface ServerWatchOptions {
  /** As configured. */
  readonly port: number;
  /** Returns the gateway that owns the port; `undefined` when several share it. */
  readonly gateway: () => string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<
    TrafficMetrics,
    "handshakeFailures" | "rejectedConnections"
  >;
  readonly record: (request: FinishedRequest) => void;
}

/** Logs and counts the events of a port other than handled requests. */
export class ServerWatch implements ServerObserver {
  readonly #options: ServerWatchOptions;
  /** By kind: time of the last warning, and warnings dropped since. */
  readonly #warnings = new Map<string, { at: number; unwritten: number }>();

  constructor(options: ServerWatchOptions) {
    this.#options = options;
  }

  connectionOpened(peer: Peer, protocol: string): void {
    const { log, port } = this.#options;
    if (!log.isEnabled("debug")) return;
    const source = toText(peer);
    log.debug("Connection opened", { port, "src.addr": source, protocol });
  }

  connectionClosed(peer: Peer, reason: string): void {
    const { log, port } = this.#options;
    if (!log.isEnabled("debug")) return;
    const source = toText(peer);
    log.debug("Connection closed", { port, "src.addr": source, reason });
  }

  connectionRejected(peer: Peer, reason: RejectedConnection): void {
    const { port, metrics } = this.#options;
    metrics.rejectedConnections.labels(String(port), reason).inc();
    this.#warn("Connection rejected", reason, { "src.addr": toText(peer) });
  }

  acceptStalled(error: unknown): void {
    const fields = { error: describeError(error) };
    this.#warn("Cannot accept connections", "accept_failed", fields);
  }

  handshakeFailed(
    peer: Peer | undefined,
    { reason, message }: HandshakeFailure,
  ): void {
    const { log, port, metrics } = this.#options;
    metrics.handshakeFailures.labels(String(port), reason).inc();
    const fields = { "src.addr": peer && toText(peer), error: message };
    // A health check may open the port and close it again.
    if (reason !== "client_closed") {
      this.#warn("TLS handshake failed", reason, fields);
    } else log.debug("TLS handshake failed", { port, reason, ...fields });
  }

  requestRejected(request: RejectedRequest): void {
    const { port, gateway, clock, record } = this.#options;
    const { error, target, authority, source, ...known } = request;
    record({
      ...known,
      time: clock.now(),
      port,
      gateway: gateway(),
      source: toText(source),
      client: "",
      host: authority,
      // An absolute URL may contain a password.
      path: target.startsWith("/") ? pathOf(target) : "",
      requestId: "",
      reason: error.code,
      error: describeError(error),
      retries: 0,
    });
  }

  /** Writes at most one warning per second and kind, with the number of warnings dropped; metrics count all. */
  #warn(message: string, reason: string, fields: LogFields): void {
    const { clock, log, port } = this.#options;
    const now = clock.monotonic();
    const kind = `${message} ${reason}`;
    const last = this.#warnings.get(kind);
    if (last !== undefined && now - last.at < QUIET_MS) {
      last.unwritten++;
      return;
    }
    this.#warnings.set(kind, { at: now, unwritten: 0 });
    const count = last === undefined || last.unwritten === 0
      ? undefined
      : last.unwritten + 1;
    log.warn(message, { port, reason, ...fields, count });
  }
}

function toText({ address, port }: Peer): string {
  return `${address}:${port}`;
}
