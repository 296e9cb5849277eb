import type { Clock } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import {
  DEFAULT_MAX_CONNECTIONS,
  DEFAULT_MAX_PENDING,
  type Upstream,
  type UpstreamBounds,
  type UpstreamStats,
} from "../http/client/upstream.ts";
import { EndpointTable } from "./endpoint_table.ts";
import { createUpstream } from "../http/client/pooled_upstream.ts";
import type { Backend, Snapshot } from "../snapshot/snapshot.ts";
import { createWebUi, type WebUiHandler } from "./web_ui_upstream.ts";

/** Sends requests to a backend. */
export type Sender = Pick<Upstream, "send">;

/** Dependencies of the upstreams. */
export interface UpstreamsOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** `undefined` where there is no web UI. */
  readonly webUi?: WebUiHandler | undefined;
  /** Number of threads that share the limits of a backend, each with an equal part; default 1. */
  readonly workers?: number | undefined;
}

/**
 * The upstreams in use; their connections outlive the configuration.
 *
 * Backends that connect in the same way share one upstream, so a reload that does not touch a backend keeps its connections.
 */
export class Upstreams {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #byConnection = new Map<
    string,
    { readonly endpoint: string; readonly upstream: Upstream }
  >();
  /** Saves the look-up by string for each request; garbage-collected with the snapshot. */
  #byBackend = new WeakMap<Backend, Sender>();
  readonly #webUi: WebUiHandler | undefined;
  readonly #workers: number;
  /** Endpoints of services. */
  readonly endpoints = new EndpointTable();

  constructor({ clock, log, webUi, workers = 1 }: UpstreamsOptions) {
    this.#clock = clock;
    this.#log = log;
    this.#webUi = webUi;
    this.#workers = workers;
  }

  /**
   * Returns the upstream of a backend.
   * @throws {GatewayError} `upstream_tls_failed` when its TLS policy is invalid; the gateway never falls back to plain text.
   */
  get(backend: Backend): Sender {
    if (backend.service !== undefined) {
      return this.#findOrCreate(atEndpoint(backend, this.endpoints));
    }
    const known = this.#byBackend.get(backend);
    if (known !== undefined) return known;
    const upstream = backend.webUi === undefined
      ? this.#findOrCreate(backend)
      : createWebUi(this.#webUi, backend.webUi);
    this.#byBackend.set(backend, upstream);
    return upstream;
  }

  /** Retires the upstreams that are not in `snapshot`; requests under way finish. */
  retainOnly(snapshot: Snapshot): void {
    const wanted = new Set(
      snapshot.backends.values().flatMap((backend) =>
        backend.service === undefined
          ? [connectionKey(backend)]
          : this.endpoints.of(backend.service).map((endpoint) =>
            connectionKey({ ...backend, ...endpoint })
          )
      ),
    );
    for (const [key, { upstream }] of this.#byConnection) {
      if (wanted.has(key)) continue;
      this.#byConnection.delete(key);
      upstream.retire();
    }
  }

  /** Sums the connections of all upstreams. */
  stats(): Pick<UpstreamStats, "active" | "idle" | "connects"> {
    const total = { active: 0, idle: 0, connects: 0 };
    for (const { stats } of this.describe()) {
      total.active += stats.active;
      total.idle += stats.idle;
      total.connects += stats.connects;
    }
    return total;
  }

  /** Lists the upstreams, each with its endpoint `host:port`. */
  *describe(): Iterable<
    { endpoint: string; stats: UpstreamStats; bounds: UpstreamBounds }
  > {
    for (const { endpoint, upstream } of this.#byConnection.values()) {
      const { stats, bounds } = upstream;
      yield { endpoint, stats, bounds };
    }
  }

  /** Closes every connection. */
  close(): void {
    for (const { upstream } of this.#byConnection.values()) upstream.close();
    this.#byConnection.clear();
    this.#byBackend = new WeakMap();
  }

  #findOrCreate(backend: Backend): Upstream {
    const { tls } = backend;
    if (tls === "invalid") {
      throw new GatewayError(
        "upstream_tls_failed",
        "gateway",
        `Cannot connect to backend "${backend.key}": its TLS policy is invalid`,
      );
    }
    const key = connectionKey(backend);
    const known = this.#byConnection.get(key);
    if (known !== undefined) return known.upstream;
    const upstream = createUpstream(
      { ...backend, tls, ...shareOf(backend, this.#workers) },
      this.#clock,
      this.#log,
    );
    const endpoint = `${backend.host}:${backend.port}`;
    this.#byConnection.set(key, { endpoint, upstream });
    return upstream;
  }
}

/** Returns the part of the limits of a backend that one worker has; each can have a connection. */
function shareOf(
  {
    maxConnections = DEFAULT_MAX_CONNECTIONS,
    maxPendingRequests = DEFAULT_MAX_PENDING,
  }: Backend,
  workers: number,
): Pick<Backend, "maxConnections" | "maxPendingRequests"> {
  return {
    maxConnections: Math.max(1, Math.floor(maxConnections / workers)),
    maxPendingRequests: Math.ceil(maxPendingRequests / workers),
  };
}

/**
 * Returns the backend at the endpoint whose turn it is.
 * @throws {GatewayError} `no_endpoints`
 */
function atEndpoint(backend: Backend, endpoints: EndpointTable): Backend {
  const { service } = backend;
  const endpoint = service && endpoints.next(service);
  if (endpoint !== undefined) return { ...backend, ...endpoint };
  throw new GatewayError(
    "no_endpoints",
    "upstream",
    `No endpoint of Service "${service?.name}" is ready`,
  );
}

/** Returns a key that is equal for backends that connect in the same way. */
function connectionKey(backend: Backend): string {
  const { key: _key, name: _name, llm: _llm, ...connection } = backend;
  return JSON.stringify(connection);
}
