import type { Clock } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import { formatHostPort } from "../base/host_port.ts";
import type { Log } from "../base/log.ts";
import {
  DEFAULT_MAX_CONNECTIONS,
  DEFAULT_MAX_PENDING,
  type UpstreamBounds,
  type UpstreamStats,
} from "../http/client/upstream.ts";
import { createUpstream } from "../http/client/pooled_upstream.ts";
import {
  type Backend,
  defaultBalancing,
  type Endpoint,
  type ServiceEndpoints,
  type Snapshot,
} from "../snapshot/snapshot.ts";
import type { Destination } from "./balancing/attempt_target.ts";
import { BalancedDestination } from "./balancing/balanced_destination.ts";
import type { BalancedEndpoint } from "./balancing/balanced_endpoint.ts";
import { EndpointPool } from "./balancing/endpoint_pool.ts";
import { type Lookup, systemLookup } from "./balancing/host_addresses.ts";
import { createWebUi, type WebUiHandler } from "./web_ui_upstream.ts";

/** Dependencies of the upstreams. */
export interface UpstreamsOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1); chooses endpoints. */
  readonly random: () => number;
  readonly log: Log;
  /** `undefined` where there is no web UI. */
  readonly webUi?: WebUiHandler | undefined;
  /** Number of threads that share the limits of a backend, each with an equal part; default 1. */
  readonly workers?: number | undefined;
  /** Default: that of the operating system. */
  readonly lookup?: Lookup | undefined;
}

type ServicePort = NonNullable<Backend["service"]>;

const noPorts: ReadonlyMap<string, readonly Endpoint[]> = new Map();

/** The endpoints of backends that connect in the same way. */
interface Shared {
  readonly destination: BalancedDestination;
  readonly service: ServicePort | undefined;
  /** Keys and names of the backends. */
  readonly backends: Map<string, string>;
}

/** State of an endpoint. */
export interface EndpointReading
  extends Pick<BalancedEndpoint, "health" | "requests"> {
  /** `host:port`. */
  readonly endpoint: string;
  /** Keys of its backends. */
  readonly backends: readonly string[];
  /** Names of its backends. */
  readonly names: readonly string[];
  readonly stats: UpstreamStats;
  readonly bounds: UpstreamBounds;
}

/**
 * The endpoints in use; their connections and health outlive the configuration.
 *
 * Backends that connect in the same way share their endpoints, so a reload that does not touch a backend keeps its connections.
 */
export class Upstreams {
  readonly #options: UpstreamsOptions;
  readonly #byConnection = new Map<string, Shared>();
  /** Saves the look-up by string for each request; garbage-collected with the snapshot. */
  #byBackend = new WeakMap<Backend, Destination>();
  readonly #keys = new WeakMap<Backend, string>();
  #services = new Map<string, ReadonlyMap<string, readonly Endpoint[]>>();

  constructor(options: UpstreamsOptions) {
    this.#options = options;
  }

  /**
   * Returns where requests to a backend go.
   * @throws {GatewayError} `upstream_tls_failed` when its TLS policy is invalid; the gateway never falls back to plain text.
   */
  get(backend: Backend): Destination {
    const known = this.#byBackend.get(backend);
    if (known !== undefined) return known;
    const destination = backend.webUi === undefined
      ? this.#findOrCreate(backend)
      : createWebUi(this.#options.webUi, backend.webUi);
    this.#byBackend.set(backend, destination);
    return destination;
  }

  /** Makes `services` the endpoints of all services from now on. */
  replaceEndpoints(services: ServiceEndpoints): void {
    const gone = this.#services.keys().filter((name) => !services.has(name));
    this.updateEndpoints(
      new Map([...gone.map((name) => [name, noPorts] as const), ...services]),
    );
  }

  /** Replaces the endpoints of some services; requests at those that are gone finish. */
  updateEndpoints(changed: ServiceEndpoints): void {
    for (const [service, ports] of changed) {
      if (ports.size === 0) this.#services.delete(service);
      else this.#services.set(service, ports);
    }
    for (const { destination, service } of this.#byConnection.values()) {
      if (service === undefined || !changed.has(service.name)) continue;
      destination.pool.update(this.#endpointsOf(service));
    }
  }

  /** Retires the endpoints of backends that are not in `snapshot`; requests under way finish. */
  retainOnly(snapshot: Snapshot): void {
    const wanted = new Set(
      snapshot.backends.values().map((backend) => this.#keyOf(backend)),
    );
    for (const [key, { destination, backends }] of this.#byConnection) {
      for (const name of backends.keys()) {
        if (!snapshot.backends.has(name)) backends.delete(name);
      }
      if (wanted.has(key)) continue;
      this.#byConnection.delete(key);
      destination.pool.retire();
    }
  }

  /** Sums the connections of all endpoints. */
  stats(): Pick<UpstreamStats, "active" | "idle" | "connects"> {
    const total = { active: 0, idle: 0, connects: 0 };
    for (const { stats } of this.describe()) {
      total.active += stats.active;
      total.idle += stats.idle;
      total.connects += stats.connects;
    }
    return total;
  }

  /** Lists the endpoints, each as `host:port`. */
  *describe(): Iterable<EndpointReading> {
    for (const { destination, backends } of this.#byConnection.values()) {
      for (const each of destination.pool.endpoints) {
        const { label: endpoint, upstream, health, requests } = each;
        const { stats, bounds } = upstream;
        yield {
          endpoint,
          backends: [...backends.keys()],
          names: [...new Set(backends.values())],
          health,
          requests,
          stats,
          bounds,
        };
      }
    }
  }

  /** Closes every connection. */
  close(): void {
    for (const { destination } of this.#byConnection.values()) {
      destination.pool.close();
    }
    this.#byConnection.clear();
    this.#byBackend = new WeakMap();
  }

  #endpointsOf({ name, portName }: ServicePort): readonly Endpoint[] {
    return this.#services.get(name)?.get(portName) ?? [];
  }

  /** Returns a key that is equal for backends that connect in the same way. */
  #keyOf(backend: Backend): string {
    const known = this.#keys.get(backend);
    if (known !== undefined) return known;
    const { key: _key, name: _name, llm: _llm, ...connection } = backend;
    const key = JSON.stringify(connection);
    this.#keys.set(backend, key);
    return key;
  }

  #findOrCreate(backend: Backend): BalancedDestination {
    const key = this.#keyOf(backend);
    const known = this.#byConnection.get(key);
    const { key: name, service } = backend;
    if (known !== undefined) {
      known.backends.set(name, backend.name);
      return known.destination;
    }
    const destination = this.#create(backend);
    const backends = new Map([[name, backend.name]]);
    this.#byConnection.set(key, { destination, service, backends });
    if (service !== undefined) {
      destination.pool.update(this.#endpointsOf(service));
    }
    return destination;
  }

  #create(backend: Backend): BalancedDestination {
    const { clock, random, log, workers = 1, lookup = systemLookup } =
      this.#options;
    const { tls, service, host, port, balancing = defaultBalancing } = backend;
    if (tls === "invalid") {
      throw new GatewayError(
        "upstream_tls_failed",
        "gateway",
        `Cannot connect to backend "${backend.key}": its TLS policy is invalid`,
      );
    }
    const shared = { ...backend, tls, ...shareOf(backend, workers) };
    const pool = new EndpointPool({
      name: service === undefined
        ? `"${formatHostPort(host, port)}"`
        : `Service "${service.name}"`,
      balancing,
      connect: (endpoint) =>
        createUpstream({ ...shared, ...endpoint }, clock, log),
      clock,
      random,
      log,
    });
    const { hosts = [{ host, port }] } = backend;
    const own = service === undefined ? hosts : [];
    return new BalancedDestination({ pool, hosts: own, lookup, clock });
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
