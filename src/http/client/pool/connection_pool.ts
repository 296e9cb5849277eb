import type { Cancellation } from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import { GatewayError } from "../../../base/errors.ts";
import { formatHostPort } from "../../../base/wire/host_port.ts";
import type { Log } from "../../../base/log/log.ts";
import type { Connection, ConnectionContext } from "../connection.ts";
import { TimerWheel } from "../../timer_wheel.ts";
import type { Dialer } from "./dialer.ts";
import { FairQueue, OwnerCounts } from "./fair_queue.ts";
import {
  cancellationError,
  connectFailed,
  timedOut,
} from "../upstream_errors.ts";
import {
  DEFAULT_MAX_CONNECTIONS,
  DEFAULT_MAX_PENDING,
  type UpstreamBounds,
  type UpstreamOptions,
  type UpstreamStats,
} from "../upstream.ts";
import { Waiter } from "./waiter.ts";

const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
const MAX_READY = 256;
/** Smaller pools, which protect a backend from load, have no shares. */
const MIN_SHARED = 16;

/**
 * A pool of connections to one upstream.
 *
 * Available connections form a stack: the last used one is the least likely to be stale, and the others time out. A request that
 * finds none waits while one is opened, and gets the first that becomes available. While the upstream may support HTTP/2, only
 * one connection is opened at a time, as it may serve all waiting requests.
 */
export class ConnectionPool {
  readonly #dial: Dialer;
  readonly #log: Log | undefined;
  readonly #context: ConnectionContext;
  readonly #maxConnections: number;
  readonly #maxPending: number;
  readonly #connectTimeoutMs: number;
  readonly #all = new Set<Connection>();
  readonly #ready: Connection[] = [];
  readonly #waiters = new FairQueue<Waiter>();
  /** Connections in use by client, where each serves one request at a time. */
  readonly #used = new OwnerCounts();
  readonly #dials = new Set<AbortController>();
  #sharesConnections: boolean;
  #retired = false;
  #connects = 0;
  #reuses = 0;

  constructor(
    options: UpstreamOptions,
    dial: Dialer,
    clock: Clock,
    log?: Log,
  ) {
    this.#dial = dial;
    this.#log = log;
    this.#maxConnections = options.maxConnections ?? DEFAULT_MAX_CONNECTIONS;
    this.#maxPending = options.maxPendingRequests ?? DEFAULT_MAX_PENDING;
    this.#connectTimeoutMs = options.connectTimeoutMs ??
      DEFAULT_CONNECT_TIMEOUT_MS;
    this.#sharesConnections = maySpeakHttp2(options);
    this.#context = {
      options,
      clock,
      endpoint: formatHostPort(options.host, options.port),
      wheel: new TimerWheel(clock),
      onAvailable: (connection) => this.#offer(connection),
      onDraining: (connection) => this.#withdraw(connection),
      onClosed: (connection) => this.#forget(connection),
    };
  }

  get stats(): UpstreamStats {
    const active =
      [...this.#all].filter((connection) => connection.active > 0).length;
    return {
      idle: this.#all.size - active,
      active,
      pending: this.#waiters.length,
      connects: this.#connects,
      reuses: this.#reuses,
    };
  }

  /** Requests under way and waiting. */
  get load(): number {
    let load = this.#waiters.length;
    // Connections of HTTP/1.1 are ready, or have one request.
    if (!this.#sharesConnections) {
      return load + this.#all.size - this.#ready.length;
    }
    for (const { active } of this.#all) load += active;
    return load;
  }

  get bounds(): UpstreamBounds {
    return { connections: this.#maxConnections, pending: this.#maxPending };
  }

  /** Returns an available connection, reserved for the caller; `undefined` also if one of its owners has its share. */
  takeReady(owners: readonly string[]): Connection | undefined {
    const connection = this.#ready.at(-1);
    if (connection === undefined || !this.#mayTake(owners)) return undefined;
    if (!this.#reserve(connection, owners)) this.#ready.pop();
    return connection;
  }

  /**
   * Waits for the next connection that becomes available, reserved for the caller.
   * @throws {GatewayError} `upstream_connect_failed`, `upstream_tls_failed`, `upstream_timeout`, `upstream_overloaded`.
   */
  async nextReady(
    owners: readonly string[],
    cancellation: Cancellation,
  ): Promise<Connection> {
    if (cancellation.cancelled) throw cancellationError(cancellation.reason);
    if (!this.#mayDial() || !this.#mayTake(owners, this.#dials.size)) {
      this.#expectPlace(owners);
    }
    const waiter = new Waiter(owners, cancellation, {
      leave: () => this.#leave(waiter),
      timeout: () => this.#timeout(),
    });
    this.#waiters.add(waiter);
    this.#context.wheel.add(waiter);
    this.#context.wheel.set(waiter, this.#connectTimeoutMs);
    this.#dialAsNeeded();
    return await waiter.connection;
  }

  /** Closes connections without requests, now and later. */
  retire(): void {
    this.#retired = true;
    for (const connection of this.#all) connection.retire();
  }

  /** Closes all connections. */
  close(): void {
    this.#retired = true;
    const closed = new GatewayError(
      "upstream_closed",
      "gateway",
      `Cannot use "${this.#context.endpoint}": it was closed`,
    );
    for (const waiter of this.#waiters.values()) waiter.fail(closed);
    for (const connection of this.#all) connection.close();
  }

  #reserve(connection: Connection, owners: readonly string[]): boolean {
    if (connection.served > 0 || connection.active > 0) this.#reuses++;
    if (!connection.isShared) {
      connection.owners = owners;
      this.#used.add(owners);
    }
    return connection.reserve();
  }

  /** Counts that a connection serves its owners no more. */
  #free(connection: Connection): void {
    const { owners } = connection;
    if (owners === undefined) return;
    connection.owners = undefined;
    this.#used.remove(owners);
  }

  /**
   * Reports whether a client may take another connection: in a pool that is half in use, it may have no more than are left for all
   * others. So one alone gets half of them, two a third each, and there is always one for somebody else. An address with many
   * keys has one share, and so has a key with many addresses.
   * Requests of the gateway's own have no owner, and no limit.
   * @param opening Connections that are being opened, as if all were for this client.
   */
  #mayTake(owners: readonly string[], opening = 0): boolean {
    const used = this.#all.size - this.#ready.length + opening;
    const isFree = this.#sharesConnections ||
      this.#maxConnections < MIN_SHARED ||
      2 * used < this.#maxConnections;
    if (isFree) return true;
    const left = this.#maxConnections - used - opening;
    return owners.every((owner) => this.#used.of(owner) < left);
  }

  /** Likewise for the places of those that wait. @throws {GatewayError} `upstream_overloaded` */
  #expectPlace(owners: readonly string[]): void {
    const waiting = Math.max(0, this.#waiters.length - this.#dials.size);
    if (waiting >= this.#maxPending) {
      throw this.#overloaded(
        `${this.#maxPending} requests are already waiting`,
      );
    }
    const own = Math.max(
      0,
      ...owners.map((owner) => this.#waiters.count(owner)),
    );
    const hasShare = this.#maxConnections < MIN_SHARED ||
      2 * waiting < this.#maxPending ||
      own < this.#maxPending - waiting || owners.length === 0;
    if (hasShare) return;
    throw this.#overloaded(
      `${own} requests of this client are already waiting, its share of ${this.#maxPending} places`,
    );
  }

  #mayDial(): boolean {
    const openOrOpening = this.#all.size + this.#dials.size;
    if (openOrOpening >= this.#maxConnections) return false;
    return !this.#sharesConnections || this.#dials.size === 0;
  }

  #dialAsNeeded(): void {
    while (this.#dials.size < this.#waiters.length && this.#mayDial()) {
      const opening = this.#dials.size;
      const mayOpen = (owners: readonly string[]) =>
        this.#mayTake(owners, opening);
      if (this.#waiters.next(mayOpen) === undefined) return;
      void this.#openConnection();
    }
  }

  async #openConnection(): Promise<void> {
    const dial = new AbortController();
    this.#dials.add(dial);
    try {
      const connection = await this.#dial(this.#context, dial.signal);
      this.#dials.delete(dial);
      this.#connected(connection);
    } catch (error) {
      this.#dials.delete(dial);
      if (!dial.signal.aborted) this.#dialFailed(error);
    }
    this.#dialAsNeeded();
  }

  #connected(connection: Connection): void {
    this.#connects++;
    const { endpoint } = this.#context;
    this.#log?.debug("Upstream connection opened", { endpoint });
    this.#all.add(connection);
    this.#sharesConnections = connection.isShared;
    this.#offer(connection);
  }

  #dialFailed(cause: unknown): void {
    const { endpoint } = this.#context;
    const error = connectFailed(endpoint, cause);
    this.#log?.debug("Upstream connection failed", { endpoint, error });
    const affected = this.#sharesConnections
      ? this.#waiters.values()
      : [this.#waiters.next(() => true)];
    for (const waiter of affected) waiter?.fail(error);
  }

  /** Assigns the connection to waiting requests, else adds it to the available ones. */
  #offer(connection: Connection): void {
    this.#free(connection);
    this.#ready.push(connection);
    this.#serveWaiters();
    if (this.#ready.at(-1) !== connection) return;
    if (this.#retired) connection.retire();
    else if (this.#ready.length > MAX_READY) {
      this.#ready.find(({ active }) => active === 0)?.close();
    }
  }

  #serveWaiters(): void {
    while (this.#waiters.length > 0) {
      const connection = this.#ready.at(-1);
      const waiter = connection &&
        this.#waiters.next((owners) => this.#mayTake(owners));
      if (connection === undefined || waiter === undefined) return;
      if (!this.#reserve(connection, waiter.owners)) this.#ready.pop();
      waiter.succeed(connection);
    }
  }

  #withdraw(connection: Connection): void {
    const index = this.#ready.lastIndexOf(connection);
    if (index >= 0) this.#ready.splice(index, 1);
  }

  #forget(connection: Connection): void {
    const { endpoint } = this.#context;
    this.#log?.debug("Upstream connection closed", {
      endpoint,
      requests: connection.served,
    });
    this.#all.delete(connection);
    this.#free(connection);
    this.#withdraw(connection);
    this.#serveWaiters();
    this.#dialAsNeeded();
  }

  /** Removes a waiter; cancels a surplus dial if the waiter gave up. */
  #leave(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    this.#context.wheel.delete(waiter);
    if (!waiter.gaveUp) return;
    for (const dial of [...this.#dials].slice(this.#waiters.length)) {
      dial.abort();
    }
  }

  #timeout(): GatewayError {
    const limit = `within ${this.#connectTimeoutMs} ms`;
    return this.#dials.size > 0
      ? timedOut(`Cannot connect to "${this.#context.endpoint}" ${limit}`)
      : this.#overloaded(`no connection became free ${limit}`);
  }

  #overloaded(reason: string): GatewayError {
    return new GatewayError(
      "upstream_overloaded",
      "upstream",
      `Cannot send to "${this.#context.endpoint}": ${reason}`,
    );
  }
}

/** Reports whether connections to an upstream may use HTTP/2. */
export function maySpeakHttp2({ protocol, tls }: UpstreamOptions): boolean {
  return protocol === "http2" || (protocol === "auto" && tls !== undefined);
}
