import type { Cancellation } from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log/log.ts";
import type { Body } from "../../body.ts";
import { isIdempotent, type ResponseMessage } from "../../message.ts";
import type { Connection } from "../connection.ts";
import { ConnectionPool, maySpeakHttp2 } from "./connection_pool.ts";
import { createDialer } from "./dialer.ts";
import { cancellationError, UnansweredError } from "../upstream_errors.ts";
import type {
  Upstream,
  UpstreamBounds,
  UpstreamOptions,
  UpstreamRequest,
  UpstreamStats,
} from "../upstream.ts";

/**
 * Creates an upstream, which connects on the first request.
 * @param log Receives debug entries about its connections.
 */
export function createUpstream(
  options: UpstreamOptions,
  clock: Clock,
  log?: Log,
): Upstream {
  return new PooledUpstream(options, clock, log);
}

/** Owners of requests of the gateway's own, which have no share. */
const nobody: readonly string[] = [];

/** An upstream over pooled connections of one or both protocol versions. */
class PooledUpstream implements Upstream {
  readonly #pool: ConnectionPool;
  /** For protocol upgrades, which require HTTP/1.1; the same pool unless that may use HTTP/2. */
  readonly #upgradePool: ConnectionPool;

  constructor(options: UpstreamOptions, clock: Clock, log?: Log) {
    this.#pool = new ConnectionPool(options, createDialer(options), clock, log);
    if (!maySpeakHttp2(options)) {
      this.#upgradePool = this.#pool;
      return;
    }
    const http1 = { ...options, protocol: "http1" } as const;
    this.#upgradePool = new ConnectionPool(
      http1,
      createDialer(http1),
      clock,
      log,
    );
  }

  get load(): number {
    const { load } = this.#pool;
    return this.#upgradePool === this.#pool
      ? load
      : load + this.#upgradePool.load;
  }

  get stats(): UpstreamStats {
    const stats = this.#pool.stats;
    if (this.#upgradePool === this.#pool) return stats;
    const more = this.#upgradePool.stats;
    return {
      idle: stats.idle + more.idle,
      active: stats.active + more.active,
      pending: stats.pending + more.pending,
      connects: stats.connects + more.connects,
      reuses: stats.reuses + more.reuses,
    };
  }

  get bounds(): UpstreamBounds {
    const { connections, pending } = this.#pool.bounds;
    const pools = this.#upgradePool === this.#pool ? 1 : 2;
    return { connections: pools * connections, pending: pools * pending };
  }

  send(
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    if (cancellation.cancelled) {
      return Promise.reject(cancellationError(cancellation.reason));
    }
    const pool = request.upgrade === undefined ? this.#pool : this.#upgradePool;
    const { owners = nobody } = request;
    const send = (connection: Connection) => {
      const isReused = connection.served > 0;
      return connection.send(request, body, cancellation)
        .catch(async (error: unknown) => {
          if (!mayResend(error, isReused, request)) throw error;
          const fresh = await pool.nextReady(owners, cancellation);
          return await fresh.send(request, body, cancellation);
        });
    };
    const ready = pool.takeReady(owners);
    return ready === undefined
      ? pool.nextReady(owners, cancellation).then(send)
      : send(ready);
  }

  retire(): void {
    this.#pool.retire();
    this.#upgradePool.retire();
  }

  close(): void {
    this.#pool.close();
    this.#upgradePool.close();
  }
}

/** Reports whether a request may be sent again (RFC 9110 section 9.2.2, RFC 9112 section 9.3.1). */
function mayResend(
  error: unknown,
  isReused: boolean,
  request: UpstreamRequest,
): boolean {
  if (!(error instanceof UnansweredError)) return false;
  return error.refused || (isReused && isIdempotent(request.method));
}
