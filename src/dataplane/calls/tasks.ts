import type { BackendLookup, EndpointReading } from "../../proxy/upstreams.ts";
import { describeGlobalBudget } from "../state/state_descriptions.ts";
import {
  type LookupTask,
  mergeBackendTasks,
  type UpstreamTask,
} from "./backend_tasks.ts";
import { describeClients, mergeClients } from "./client_tasks.ts";
import type { TaskTree } from "./descriptions.ts";
import type { CallingThread, TrafficThread } from "./traffic_thread.ts";

/** Describes what is under way in a thread. @param limit See `describeClients`; also of leases. */
export function describeTasks(
  { clock, cooldowns, debugging, listeners, state, upstreams }: TrafficThread,
  limit: number,
): TaskTree {
  const now = clock.now();
  return {
    takenAt: new Date(now).toISOString(),
    ...describeClients(listeners.connections(), limit, clock.monotonic()),
    upstreams: [...upstreams.describe()].map(describeUpstream),
    lookups: [...upstreams.describeLookups()].map((each) =>
      describeLookup(each, now)
    ),
    cooldowns: cooldowns.describe().map((
      { name: _name, remainingMs, ...more },
    ) => ({ ...more, until: new Date(now + remainingMs).toISOString() })),
    keySets: state.keySets(),
    providerMetadata: state.providerMetadata(),
    // Every stored key may have budgets of its own.
    leases: limit === 0
      ? []
      : state.globalLimits().slice(0, limit).map(describeGlobalBudget),
    watchers: debugging.tracing.watchers(),
  };
}

function describeUpstream(
  { endpoint, backends, health, requests, stats, check }: EndpointReading,
): UpstreamTask {
  const { latencyMs, failureShare = null } = health;
  return {
    endpoint,
    backends,
    health: health.state === "healthy" && health.isFailing
      ? "failing"
      : health.state,
    check: check?.verdict ?? null,
    requests,
    failures: health.failures,
    failureShare,
    ejections: Object.values(health.ejections).reduce((a, b) => a + b, 0),
    latencyMs: latencyMs === undefined ? null : Math.round(latencyMs),
    active: stats.active,
    idle: stats.idle,
    waiting: stats.pending,
  };
}

function describeLookup(
  { host, backends, addresses, ignored, ageMs, error }: BackendLookup,
  now: number,
): LookupTask {
  const lookedUpAt = ageMs === null
    ? null
    : new Date(now - ageMs).toISOString();
  return { host, backends, addresses, ignored, lookedUpAt, error };
}

/** Merges what all threads do into one tree. */
export function mergeTasks(
  results: readonly {
    readonly worker: number | undefined;
    readonly part: TaskTree;
  }[],
  { clock, workers }: CallingThread,
  limit: number,
): TaskTree {
  const [only] = results;
  if (workers === undefined && only !== undefined) return only.part;
  const trees = results.map(({ worker, part }) => ofWorker(part, worker));
  const [{ keySets, providerMetadata } = noDocuments] = trees;
  const documents = { keySets, providerMetadata };
  return {
    takenAt: new Date(clock.now()).toISOString(),
    ...mergeClients(trees, limit),
    ...mergeBackendTasks(trees),
    ...workers?.state.completeDocuments(documents) ?? documents,
    leases: [
      ...workers?.state.describeLeases() ?? [],
      ...trees.flatMap(({ leases }) => leases),
    ].slice(0, limit),
    watchers: workers?.watches.describe() ?? [],
  };
}

const noDocuments = { keySets: [], providerMetadata: [] };

/** Marks the connections of a tree as those of a worker. */
function ofWorker(tree: TaskTree, worker: number | undefined): TaskTree {
  if (worker === undefined) return tree;
  const listeners = tree.listeners.map((listener) => ({
    ...listener,
    connections: listener.connections.map((each) => ({ ...each, worker })),
  }));
  return { ...tree, listeners };
}
