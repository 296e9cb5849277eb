import { mergeBackendTasks } from "../backend_tasks.ts";
import type {
  BoundedStore,
  ConnectionTask,
  ListenerTask,
  TaskTree,
} from "../data_plane.ts";

/** Marks the connections of a tree as those of a worker. */
export function ofWorker(tree: TaskTree, worker: number): TaskTree {
  const listeners = tree.listeners.map((listener) => ({
    ...listener,
    connections: listener.connections.map((each) => ({ ...each, worker })),
  }));
  return { ...tree, listeners };
}

/**
 * Merges what workers do into one tree.
 * @param limit Maximum of connections and requests together; connections with requests come first.
 */
export function mergeTasks(
  trees: readonly TaskTree[],
  limit: number,
): Pick<
  TaskTree,
  | "connections"
  | "requests"
  | "omitted"
  | "listeners"
  | "upstreams"
  | "lookups"
  | "cooldowns"
> {
  const connections = sum(trees.map((tree) => tree.connections));
  const requests = sum(trees.map((tree) => tree.requests));
  const listeners = limitTasks(mergeListeners(trees), limit);
  const shown = sum(
    listeners.flatMap((listener) =>
      listener.connections.map(({ requests }) => 1 + requests.length)
    ),
  );
  return {
    connections,
    requests,
    omitted: connections + requests - shown,
    listeners,
    ...mergeBackendTasks(trees),
  };
}

function mergeListeners(trees: readonly TaskTree[]): readonly ListenerTask[] {
  const groups = Map.groupBy(
    trees.flatMap(({ listeners }) => listeners),
    ({ port, state }) => `${port} ${state}`,
  );
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const all = [first, ...others].flatMap(({ connections }) => connections);
    return { ...first, connections: all.toSorted(busyFirst) };
  });
}

function busyFirst(a: ConnectionTask, b: ConnectionTask): number {
  return Number(b.requests.length > 0) - Number(a.requests.length > 0);
}

function limitTasks(
  listeners: readonly ListenerTask[],
  limit: number,
): readonly ListenerTask[] {
  let left = limit;
  const shown = new Set<ConnectionTask>();
  const all = listeners.flatMap(({ connections }) => connections);
  for (const connection of all.toSorted(busyFirst)) {
    const size = 1 + connection.requests.length;
    if (size > left) break;
    left -= size;
    shown.add(connection);
  }
  return listeners.map((listener) => ({
    ...listener,
    connections: listener.connections.filter((each) => shown.has(each)),
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

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
