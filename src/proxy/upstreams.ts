import type { UpstreamBounds, UpstreamStats } from "../http/client/upstream.ts";
import type { Backend, Endpoint } from "../snapshot/backend.ts";
import type { ServiceEndpoints, Snapshot } from "../snapshot/snapshot.ts";
import type { Destination } from "./balancing/attempt_target.ts";
import type { BalancedDestination } from "./balancing/balanced_destination.ts";
import type { BalancedEndpoint } from "./balancing/balanced_endpoint.ts";
import {
  createDestination,
  type DestinationDependencies,
} from "./balancing/create_destination.ts";
import type { EndpointCheck } from "./balancing/health/endpoint_check.ts";
import {
  HealthRecords,
  type HealthTurns,
} from "./balancing/health/health_records.ts";
import type { LookupReading } from "./balancing/host_addresses.ts";
import { mcpDestination } from "./balancing/mcp_destination.ts";
import { createWebUi, type WebUiHandler } from "./balancing/web_ui_upstream.ts";

/** Dependencies of the upstreams. */
export interface UpstreamsOptions
  extends Omit<DestinationDependencies, "healthTurns"> {
  /** `undefined` where there is no web UI. */
  readonly webUi?: WebUiHandler | undefined;
  /** Shares checks of endpoints with other threads; default: this one makes all. */
  readonly healthTurns?: HealthTurns | undefined;
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
  readonly check: EndpointCheck | undefined;
}

/** State of the addresses of a name. */
export interface BackendLookup extends LookupReading {
  /** Keys of the backends with the name. */
  readonly backends: readonly string[];
  /** Names of these backends. */
  readonly names: readonly string[];
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
  readonly #healthTurns: HealthTurns;
  readonly #keys = new WeakMap<Backend, string>();
  #services = new Map<string, ReadonlyMap<string, readonly Endpoint[]>>();

  constructor(options: UpstreamsOptions) {
    const { clock, random } = options;
    this.#options = options;
    this.#healthTurns = options.healthTurns ?? new HealthRecords(clock, random);
  }

  /**
   * Returns where requests to a backend go.
   * @throws {GatewayError} `upstream_tls_failed` when its TLS policy is invalid; the gateway never falls back to plain text.
   */
  get(backend: Backend): Destination {
    const known = this.#byBackend.get(backend);
    if (known !== undefined) return known;
    const destination = backend.webUi !== undefined
      ? createWebUi(this.#options.webUi, backend.webUi)
      : backend.mcp !== undefined
      ? mcpDestination
      : this.#findOrCreate(backend);
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
  updateEndpoints(services: ServiceEndpoints): void {
    const changed = new Map(
      services.entries().filter(([service, ports]) =>
        this.#services.get(service) !== ports
      ),
    );
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
      destination.retire();
    }
    for (const backend of snapshot.backends.values()) {
      if (isChecked(backend)) this.get(backend);
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
        const { label: endpoint, upstream, health, requests, check } = each;
        const { stats, bounds } = upstream;
        yield {
          endpoint,
          backends: [...backends.keys()],
          names: [...new Set(backends.values())],
          health,
          requests,
          stats,
          bounds,
          check,
        };
      }
    }
  }

  /** Lists the names that are looked up. */
  *describeLookups(): Iterable<BackendLookup> {
    for (const { destination, backends } of this.#byConnection.values()) {
      for (const lookup of destination.lookups()) {
        yield {
          ...lookup,
          backends: [...backends.keys()],
          names: [...new Set(backends.values())],
        };
      }
    }
  }

  /** Closes every connection. */
  close(): void {
    for (const { destination } of this.#byConnection.values()) {
      destination.close();
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
    const {
      key: _key,
      name: _name,
      llm: _llm,
      mcp: _mcp,
      credentials: _credentials,
      ...connection
    } = backend;
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
    const destination = createDestination(backend, key, {
      ...this.#options,
      healthTurns: this.#healthTurns,
    });
    const backends = new Map([[name, backend.name]]);
    this.#byConnection.set(key, { destination, service, backends });
    if (service !== undefined) {
      destination.pool.update(this.#endpointsOf(service));
    }
    return destination;
  }
}

function isChecked({ healthCheck, tls }: Backend): boolean {
  return healthCheck !== undefined && tls !== "invalid";
}
