import type { UpstreamBounds, UpstreamStats } from "../http/client/upstream.ts";
import type { LimitCounts } from "../ratelimit/local/counter_store.ts";
import { MAX_KEYS } from "../ratelimit/local/local_limit.ts";
import {
  MAX_WATCHERS,
  type WatcherState,
} from "../telemetry/trace/trace_watchers.ts";
import type { BoundedStore } from "./data_plane.ts";
import type { RequestMemory } from "./request_memory.ts";

/** Fill levels of everything that is kept in memory. */
export interface StoreReadings {
  readonly ports: readonly {
    readonly port: number;
    readonly active: number;
    readonly max: number;
  }[];
  readonly upstreams: Iterable<{
    readonly endpoint: string;
    readonly stats: UpstreamStats;
    readonly bounds: UpstreamBounds;
  }>;
  readonly limits: Iterable<LimitCounts>;
  /** Request bodies that are read before they are forwarded. */
  readonly bodies: { readonly used: number; readonly capacity: number };
  readonly requests: RequestMemory["fills"];
  readonly verifiers: Iterable<
    { readonly used: number; readonly capacity: number }
  >;
  readonly watchers: readonly WatcherState[];
}

/** Describes what is kept in memory, one entry per store. */
export function describeStores(
  { ports, upstreams, limits, bodies, requests, verifiers, watchers }:
    StoreReadings,
): readonly BoundedStore[] {
  return [
    ...ports.map(({ port, active, max }) => ({
      name: "clientConnections",
      scope: `port ${port}`,
      unit: "connections",
      used: active,
      capacity: max,
    })),
    ...[...upstreams].flatMap(({ endpoint, stats, bounds }) => [
      {
        name: "upstreamConnections",
        scope: endpoint,
        unit: "connections",
        used: stats.active + stats.idle,
        capacity: bounds.connections,
      },
      {
        name: "waitingRequests",
        scope: endpoint,
        unit: "requests",
        used: stats.pending,
        capacity: bounds.pending,
      },
    ]),
    ...describeLimitStores(limits),
    ...[...verifiers].map((fill) => ({
      name: "verifiedTokens",
      unit: "tokens",
      ...fill,
    })),
    { name: "requestBodies", unit: "bytes", ...bodies },
    { name: "failedRequests", unit: "requests", ...requests.failures },
    { name: "sampledRequests", unit: "requests", ...requests.successes },
    {
      name: "traceWatchers",
      unit: "watchers",
      used: watchers.length,
      capacity: MAX_WATCHERS,
    },
  ];
}

/** Describes the keys of local limits. */
export function describeLimitStores(
  limits: Iterable<LimitCounts>,
): readonly BoundedStore[] {
  return [...limits].map(({ scope, name, keys }) => ({
    name: "rateLimitKeys",
    scope: `${scope}: ${name}`,
    unit: "keys",
    used: keys,
    capacity: MAX_KEYS,
  }));
}
