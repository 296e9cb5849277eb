import type { HealthState } from "../../proxy/balancing/endpoint_health.ts";
import type { Verdict } from "../../proxy/balancing/health/health_records.ts";

/** An endpoint of backends: its health and its connections. */
export interface UpstreamTask {
  /** `host:port`. */
  readonly endpoint: string;
  /** Keys of its backends, such as `default/tools`. */
  readonly backends: readonly string[];
  /**
   * With several workers, the worst that one of them sees. `failing`: gets requests although `failureShare` is 5% or more.
   */
  readonly health: HealthState | "failing";
  /** The latest check; `null` before the first, and without checks. */
  readonly check: Verdict | null;
  /** Attempts since the start. */
  readonly requests: number;
  /** Those of `requests` that ended with 5xx, or failed without a response. */
  readonly failures: number;
  /**
   * Part of the latest attempts that are `failures`, 0 to 1, each of the last ten for a tenth; `null` before the first one. With
   * several workers, the largest.
   */
  readonly failureShare: number | null;
  /** Ejections since the start. */
  readonly ejections: number;
  /** Moving average of the time to the response head; `null` before the first one. */
  readonly latencyMs: number | null;
  /** Open connections with a request. */
  readonly active: number;
  readonly idle: number;
  /** Requests that wait for a connection. */
  readonly waiting: number;
}

/** Look-ups of the addresses of a name. */
export interface LookupTask {
  readonly host: string;
  /** Keys of the backends with the name. */
  readonly backends: readonly string[];
  /** Those in use. */
  readonly addresses: readonly string[];
  /** Number of addresses beyond those that can be used. */
  readonly ignored: number;
  /** RFC 3339; `null` before the first successful look-up. */
  readonly lookedUpAt: string | null;
  /** Error of the latest look-up, if it failed. */
  readonly error: string | null;
}

/** The rest of a backend that limits requests or fails, on routes with several backends. */
export interface CooldownTask {
  /** Key of the backend. */
  readonly backend: string;
  /** Set when requests for other models may go there. */
  readonly model?: string;
  /** RFC 3339. */
  readonly until: string;
  /** Failures in a row. */
  readonly failures: number;
  /** Reason of the latest one: a status, or the code of an error. */
  readonly reason: string;
}

/** The state of backends. */
export interface BackendTasks {
  readonly upstreams: readonly UpstreamTask[];
  readonly lookups: readonly LookupTask[];
  readonly cooldowns: readonly CooldownTask[];
}

/** Merges what workers know about backends; each has connections and look-ups of its own. */
export function mergeBackendTasks(
  trees: readonly BackendTasks[],
): BackendTasks {
  return {
    upstreams: mergeUpstreams(trees),
    lookups: mergeByKey(
      trees.flatMap(({ lookups }) => lookups),
      ({ host, backends }) => `${host} ${backends.join()}`,
      ({ lookedUpAt, error }) => `${lookedUpAt} ${error === null ? "" : "+"}`,
    ),
    cooldowns: mergeByKey(
      trees.flatMap(({ cooldowns }) => cooldowns),
      ({ backend, model = "" }) => `${backend} ${model}`,
      ({ until }) => until,
    ),
  };
}

function mergeUpstreams(
  trees: readonly Pick<BackendTasks, "upstreams">[],
): readonly UpstreamTask[] {
  const groups = Map.groupBy(
    trees.flatMap(({ upstreams }) => upstreams),
    ({ endpoint }) => endpoint,
  );
  return [...groups].map(([endpoint, tasks]) => ({
    endpoint,
    backends: [...new Set(tasks.flatMap(({ backends }) => backends))],
    health: tasks.map(({ health }) => health).reduce(worse, "healthy"),
    check: tasks.map(({ check }) => check).reduce(newer, null),
    requests: sum(tasks.map(({ requests }) => requests)),
    failures: sum(tasks.map(({ failures }) => failures)),
    failureShare: tasks.map(({ failureShare }) => failureShare)
      .reduce(larger, null),
    ejections: sum(tasks.map(({ ejections }) => ejections)),
    latencyMs: tasks.map(({ latencyMs }) => latencyMs).reduce(larger, null),
    active: sum(tasks.map(({ active }) => active)),
    idle: sum(tasks.map(({ idle }) => idle)),
    waiting: sum(tasks.map(({ waiting }) => waiting)),
  }));
}

/** Keeps, of items with the same key, the one that is the last in order. */
function mergeByKey<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  orderOf: (item: Item) => string,
): readonly Item[] {
  const kept = new Map<string, Item>();
  for (const item of items) {
    const other = kept.get(keyOf(item));
    if (other === undefined || orderOf(other) < orderOf(item)) {
      kept.set(keyOf(item), item);
    }
  }
  return [...kept.values()];
}

const fromBest: readonly UpstreamTask["health"][] = [
  "healthy",
  "returning",
  "failing",
  "ejected",
  "unhealthy",
];

function worse(
  one: UpstreamTask["health"],
  other: UpstreamTask["health"],
): UpstreamTask["health"] {
  return fromBest.indexOf(one) < fromBest.indexOf(other) ? other : one;
}

function newer(
  one: UpstreamTask["check"],
  other: UpstreamTask["check"],
): UpstreamTask["check"] {
  return (one?.checkedAt ?? 0) < (other?.checkedAt ?? 0) ? other : one;
}

function larger(one: number | null, other: number | null): number | null {
  return one === null || other !== null && other > one ? other : one;
}

/** Adds numbers up. */
export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
