import { parseLogFilter } from "../../base/log/log_filter.ts";
import { emptyDescription } from "../../compile/describe/describe.ts";
import {
  emptyOutline,
  type PartSelection,
} from "../../compile/describe/outline.ts";
import type { LimitSelection } from "../../ratelimit/local/counter_store.ts";
import type { MetricReading } from "../../telemetry/metrics/metrics.ts";
import { toText } from "../../telemetry/metrics/prometheus_text.ts";
import {
  mergeReports,
  mergeRequests,
  type RequestQuery,
} from "../../telemetry/requests/logged_request.ts";
import type { TrafficQuery } from "../../telemetry/traffic/traffic_report.ts";
import type { UsageQuery } from "../../telemetry/traffic/summed_usage.ts";
import {
  type KeyringCommand,
  runKeyringCommand,
} from "../keyring/keyring_commands.ts";
import type { PolicyStateDescription } from "../state/state_descriptions.ts";
import {
  describeLimitStores,
  describeStores,
  mergeStores,
} from "./bounded_stores.ts";
import { type OwnKeysCommand, runOwnKeysCommand } from "../keyring/own_keys.ts";
import { accountCalls } from "./account_calls.ts";
import { sum } from "./backend_tasks.ts";
import { grantCalls } from "./grant_calls.ts";
import { mcpCalls } from "./mcp_calls.ts";
import { mergeMetrics } from "./merge_metrics.ts";
import { profileCalls } from "./profile_calls.ts";
import { describeTasks, mergeTasks } from "./tasks.ts";
import {
  type DataPlaneCall,
  define,
  nothing,
  type ThreadResult,
} from "./data_plane_call.ts";
import type { CallingThread, TrafficThread } from "./traffic_thread.ts";

/** The calls of a data plane, by name. Each says here what a thread does, and what becomes of the results of several. */
const dataPlaneCalls = {
  /** Describes the current configuration for `/config_dump`; secrets are redacted. */
  describe: define({
    threads: "one",
    settles: true,
    run: async ({ state, settings, compiled }: TrafficThread) => ({
      ...await compiled()?.descriptions.full(settings.sensitiveHeaders) ??
        emptyDescription,
      ...state.describe(),
    }),
    merge: completeState,
  }),
  /** Outlines the current configuration for lists of the web UI; secrets are redacted. */
  outline: define({
    threads: "one",
    run: async ({ settings, compiled }: TrafficThread) =>
      await compiled()?.descriptions.outline(settings.sensitiveHeaders) ??
        emptyOutline,
    merge: only,
  }),
  /** Describes a part that `outline` only names; `undefined` when there is none. */
  describePart: define({
    threads: "one",
    run: ({ settings, compiled }: TrafficThread, selection: PartSelection) =>
      compiled()?.descriptions.part(selection, settings.sensitiveHeaders),
    merge: only,
  }),
  /** Describes the part of `describe` that changes without a reload. */
  describeState: define({
    threads: "one",
    settles: true,
    run: ({ state }: TrafficThread) => state.describe(),
    merge: completeState,
  }),
  /** Fetches keys and metadata of identity providers now; `describeState` has the outcome. Never rejects. */
  refreshKeys: define({
    before: ({ workers }) => workers?.state.refetchKeys(),
    run: ({ state }: TrafficThread) => state.refetchKeys(),
    merge: nothing,
  }),
  /** Returns who used what. Rejects when the store cannot be read. */
  usage: define({
    threads: "none",
    settles: true,
    run: (_thread: TrafficThread, _query: UsageQuery) => {},
    merge: (_, { traffic }, query) => traffic.usage(query),
  }),
  /** Lists or changes keys, users and teams in the store. */
  keyring: define({
    threads: "none",
    run: (_thread: TrafficThread, _command: KeyringCommand) => {},
    merge: (_, { keyring, clock }, command) =>
      runKeyringCommand(keyring, command, clock),
  }),
  /** Lists or changes the keys of a user who is logged in. */
  ownKeys: define({
    threads: "none",
    run: (_thread: TrafficThread, _command: OwnKeysCommand) => {},
    merge: (_, { keyring, clock }, command) =>
      runOwnKeysCommand(keyring, command, clock),
  }),
  /** Describes the traffic of the last minutes or hours. */
  traffic: define({
    threads: "none",
    settles: true,
    run: (_thread: TrafficThread, _query: TrafficQuery) => {},
    merge: (_, { traffic }, query) => traffic.report(query),
  }),
  /** Makes budgets unused; returns how many. Rejects when a store fails. */
  resetLimits: define({
    run: ({ state }: TrafficThread, selection: LimitSelection) =>
      state.resetLimits(selection),
    merge: async (results, { workers }, selection) =>
      sum(results.map(({ part }) => part)) +
      (await workers?.state.resetLimits(selection) ?? 0),
  }),
  /** Lists the addresses that accept requests. */
  addresses: define({
    threads: "one",
    run: ({ listeners }: TrafficThread) => listeners.addresses(),
    merge: only,
  }),
  /** Reads the metrics; only those in `names`, if given. */
  readMetrics: define({
    settles: true,
    run: readMetrics,
    merge: allMetrics,
  }),
  /** Returns the same metrics in the Prometheus text format. */
  collectMetrics: define({
    settles: true,
    run: readMetrics,
    merge: (results, caller, names) =>
      allMetrics(results, caller, names)
        .map((metric) => toText(metric, metric.samples)).join(""),
  }),
  /** Replaces the log filter; see `LogFilter`. */
  setLogLevel: define({
    before: ({ logger }, filter) => logger.setFilter(parseLogFilter(filter)),
    run: ({ logger }: TrafficThread, filter: string) =>
      logger.setFilter(parseLogFilter(filter)),
    merge: nothing,
  }),
  /** Lists requests that have ended: those that failed, and a sample of the others. */
  requests: define({
    settles: true,
    run: ({ debugging }: TrafficThread, query: RequestQuery) =>
      debugging.memory.requests(query),
    merge: (results, { clock }, query) =>
      mergeRequests(results.map(({ part }) => part), query, clock.now()),
  }),
  /**
   * Describes one of them, by its `record` or the value of `x-request-id` of the newest; `undefined` when it was displaced by newer
   * ones.
   */
  request: define({
    run: ({ debugging }: TrafficThread, id: string) =>
      debugging.memory.request(id),
    merge: (results, _, id) =>
      mergeReports(results.map(({ part }) => part), id),
  }),
  /** Returns the newest requests on which rules can be tried, at most `limit`, the oldest first. */
  replayable: define({
    settles: true,
    run: ({ debugging }: TrafficThread, limit: number) =>
      debugging.memory.replayable(limit),
    merge: (results, _, limit) =>
      results.flatMap(({ part }) => part)
        .toSorted((a, b) => a.acceptedAt - b.acceptedAt)
        .slice(-limit),
  }),
  /** Describes connections and requests under way. */
  tasks: define({ run: describeTasks, merge: mergeTasks }),
  ...mcpCalls,
  ...accountCalls,
  ...grantCalls,
  /** Lists what is kept in memory, with its capacity. */
  stores: define({
    run: describeStores,
    merge: (results, { workers }) => [
      ...mergeStores(results.map(({ part }) => part)),
      ...describeLimitStores(workers?.state.limits() ?? []),
    ],
  }),
  ...profileCalls,
  /** Goes on accepting, but ends each connection after its next response: `drain` follows soon. */
  leave: define({
    run: ({ listeners }: TrafficThread) => listeners.leave(),
    merge: nothing,
  }),
};

type Calls = typeof dataPlaneCalls;

/** Name of a call. */
export type CallName = keyof Calls;

/** Arguments of each call. */
export type CallArguments = {
  readonly [Name in CallName]: Calls[Name] extends
    DataPlaneCall<infer Args, infer _Part, infer _Result> ? Args : never;
};

/** Results of each call in one thread. */
export type CallPart = {
  readonly [Name in CallName]: Calls[Name] extends
    DataPlaneCall<infer _Args, infer Part, infer _Result> ? Part : never;
};

/** Results of each call, merged. */
export type CallResult = {
  readonly [Name in CallName]: Calls[Name] extends
    DataPlaneCall<infer _Args, infer _Part, infer Result> ? Result : never;
};

/** Returns a call by its name. */
export function callOf<Name extends CallName>(
  name: Name,
): DataPlaneCall<CallArguments[Name], CallPart[Name], CallResult[Name]> {
  const calls: {
    readonly [Each in CallName]: DataPlaneCall<
      CallArguments[Each],
      CallPart[Each],
      CallResult[Each]
    >;
  } = dataPlaneCalls;
  return calls[name];
}

/** Adds what only the calling thread knows to the description of a worker. */
function completeState<Description extends PolicyStateDescription>(
  results: readonly ThreadResult<Description>[],
  { workers }: CallingThread,
): Description {
  const description = only(results);
  if (workers === undefined) return description;
  const own = workers.state.describeBudgets();
  return {
    ...workers.state.completeDocuments(description),
    budgets: [...own, ...description.budgets],
  };
}

function readMetrics(
  { registry }: TrafficThread,
  names?: ReadonlySet<string>,
): readonly MetricReading[] {
  return registry.read(names);
}

/** Merges the metrics of all threads, also of workers that have ended. */
function allMetrics(
  results: readonly ThreadResult<readonly MetricReading[]>[],
  { workers }: CallingThread,
  names?: ReadonlySet<string>,
): readonly MetricReading[] {
  const parts = results.map(({ part }) => part);
  if (workers === undefined) return parts.flat();
  // Limits are counted here, also for what the workers have just settled.
  const own = workers.registry.read(names);
  if (names === undefined) workers.ended.remember(results);
  return mergeMetrics([own, ...parts, workers.ended.totals(names)]);
}

/** Returns the result of the only thread that was called. */
function only<Part>([first]: readonly ThreadResult<Part>[]): Part {
  if (first === undefined) throw new Error("No worker responds");
  return first.part;
}
