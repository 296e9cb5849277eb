import type { LimitCounts } from "../../ratelimit/local/counter_store.ts";
import { MAX_KEYS } from "../../ratelimit/local/budget_table.ts";
import { MAX_WATCHERS } from "../../telemetry/trace/trace_watchers.ts";
import type { BoundedStore } from "./descriptions.ts";
import type { TrafficThread } from "./traffic_thread.ts";

/** Describes what a thread keeps in memory, one entry per store. */
export function describeStores(
  { bodyMemory, debugging, listeners, state, upstreams }: TrafficThread,
): readonly BoundedStore[] {
  const { failures, successes } = debugging.memory.fills;
  return [
    ...[...listeners.stats()].map(({ port, active, max }) => ({
      name: "clientConnections",
      scope: `port ${port}`,
      unit: "connections",
      used: active,
      capacity: max,
    })),
    ...[...upstreams.describe()].flatMap(({ endpoint, stats, bounds }) => [
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
    ...describeLimitStores(state.limits()),
    ...[...state.cachedTokens()].map((fill) => ({
      name: "verifiedTokens",
      unit: "tokens",
      ...fill,
    })),
    { name: "requestBodies", unit: "bytes", ...bodyMemory.fill },
    { name: "failedRequests", unit: "requests", ...failures },
    { name: "sampledRequests", unit: "requests", ...successes },
    {
      name: "traceWatchers",
      unit: "watchers",
      used: debugging.tracing.watchers().length,
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

/** Stores that every worker fills with the same. */
const replicated = new Set(["traceWatchers"]);
/** Stores that all workers fill together. */
const shared = new Set(["clientConnections", "requestBodies"]);
/** Stores of which the newest entries of all workers are shown, as many as one of them keeps. */
const pooled = new Set(["failedRequests"]);

/** Merges the stores of workers: those of the same name and scope become one. */
export function mergeStores(
  workers: readonly (readonly BoundedStore[])[],
): readonly BoundedStore[] {
  const groups = new Map<string, BoundedStore[]>();
  for (const stores of workers) {
    const seen = new Map<string, number>();
    for (const store of stores) {
      const name = `${store.name} ${store.scope ?? ""}`;
      // Stores without a scope differ by their place.
      const place = seen.get(name) ?? 0;
      seen.set(name, place + 1);
      groups.getOrInsertComputed(`${name} ${place}`, () => []).push(store);
    }
  }
  return [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : others.reduce(mergeStore, first)
  );
}

function mergeStore(one: BoundedStore, other: BoundedStore): BoundedStore {
  if (replicated.has(one.name)) return one;
  const used = one.used + other.used;
  if (shared.has(one.name)) return { ...one, used };
  return pooled.has(one.name)
    ? { ...one, used: Math.min(used, one.capacity) }
    : { ...one, used, capacity: one.capacity + other.capacity };
}
