import type { Clock } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import { formatHostPort } from "../../base/wire/host_port.ts";
import type { Log } from "../../base/log/log.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import { type Lookup, systemLookup } from "../../base/wire/system_lookup.ts";
import { createUpstream } from "../../http/client/pool/pooled_upstream.ts";
import {
  DEFAULT_MAX_CONNECTIONS,
  DEFAULT_MAX_PENDING,
  type UpstreamOptions,
} from "../../http/client/upstream.ts";
import {
  type Backend,
  defaultBalancing,
  defaultLookups,
  type Endpoint,
} from "../../snapshot/backend.ts";
import { BalancedDestination } from "./balanced_destination.ts";
import { EndpointPool } from "./endpoint_pool.ts";
import { createChecks } from "./health/endpoint_check.ts";
import type { HealthTurns } from "./health/health_records.ts";

/** Dependencies of destinations. */
export interface DestinationDependencies {
  readonly clock: Clock;
  /** Uniform in [0, 1); chooses endpoints. */
  readonly random: () => number;
  readonly log: Log;
  /** Number of threads that share the limits of a backend, each with an equal part; default 1. */
  readonly workers?: number | undefined;
  /** Default: that of the operating system. */
  readonly lookup?: Lookup | undefined;
  readonly healthTurns: HealthTurns;
  /** Decides which addresses backends may have. */
  readonly egress: EgressPolicy;
}

/**
 * Creates the destination of requests to a backend, and starts its checks.
 * @param key Equal for backends that connect in the same way.
 * @throws {GatewayError} `upstream_tls_failed` when its TLS policy is invalid.
 */
export function createDestination(
  backend: Backend,
  key: string,
  { workers = 1, lookup = systemLookup, healthTurns, ...dependencies }:
    DestinationDependencies,
): BalancedDestination {
  const { clock, log, egress } = dependencies;
  const { tls, service, host, port, healthCheck } = backend;
  if (tls === "invalid") {
    throw new GatewayError(
      "upstream_tls_failed",
      "gateway",
      `Cannot connect to backend "${backend.key}": its TLS policy is invalid`,
    );
  }
  const shared = { ...backend, tls, ...shareOf(backend, workers) };
  const connect = (endpoint: Endpoint, more?: Partial<UpstreamOptions>) =>
    createUpstream({ ...shared, ...endpoint, ...more, egress }, clock, log);
  const check = healthCheck && createChecks({
    backend: backend.name,
    key,
    settings: healthCheck,
    turns: healthTurns,
    connect,
    clock,
    log,
  });
  const pool = new EndpointPool({
    ...dependencies,
    name: service === undefined
      ? `"${formatHostPort(host, port)}"`
      : `Service "${service.name}"`,
    balancing: backend.balancing ?? defaultBalancing,
    connect,
    check,
  });
  const { hosts = [{ host, port }] } = backend;
  return new BalancedDestination({
    pool,
    hosts: service === undefined ? hosts : [],
    lookup,
    lookupSettings: backend.lookups ?? defaultLookups,
    clock,
    keepsFresh: healthCheck !== undefined,
  });
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
