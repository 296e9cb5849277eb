import type { MetricReading } from "../telemetry/metrics/metrics.ts";
import type { ServiceSlices } from "../api/resources/cluster_kinds.ts";
import type { ResourceSet } from "../api/resources/resource_set.ts";
import type { ResourceDiagnostic } from "../base/diagnostic.ts";
import type { Outcomes } from "../compile/outcomes/outcomes.ts";
import type { Description } from "../compile/describe/describe.ts";
import type { BackendTasks } from "./backend_tasks.ts";
import type { LimitSelection } from "../ratelimit/local/counter_store.ts";
import type { UsageRow } from "../telemetry/traffic/usage_table.ts";
import type { CpuProfile } from "../telemetry/profiles/cpu_profile.ts";
import type { StackProfile } from "../telemetry/profiles/stack_profile.ts";
import type {
  RequestPage,
  RequestQuery,
  RequestReport,
} from "../telemetry/requests/logged_request.ts";
import type {
  TrafficQuery,
  TrafficReport,
} from "../telemetry/traffic/traffic_report.ts";
import type {
  TraceStream,
  WatcherState,
} from "../telemetry/trace/trace_watchers.ts";

export type { UsageRow };

/**
 * Carries the traffic. Its interface is plain data in both directions, so that it can run in this thread or in workers.
 */
export interface DataPlane extends ThreadProfiler {
  /** Compiles and applies a configuration; on any error nothing changes. */
  apply(resources: ResourceSet): Promise<ApplyResult>;
  /** Replaces the endpoints of some services; the configuration, and the endpoints of other services, stay. */
  setEndpoints(changed: ServiceSlices): Promise<void>;
  /** Describes the current configuration for `/config_dump`; secrets are redacted. */
  describe(): Promise<DataPlaneDescription>;
  /** Describes the part of `describe` that changes without a reload. */
  describeState(): Promise<PolicyStateDescription>;
  /** Fetches keys and metadata of identity providers now; `describeState` has the outcome. Never rejects. */
  refreshKeys(): Promise<void>;
  /** Returns who used what in hours that end after `since`, in milliseconds since the epoch. Rejects when the store cannot be read. */
  usage(since: number): Promise<readonly UsageRow[]>;
  /** Makes budgets unused; returns how many. Rejects when a store fails. */
  resetLimits(selection: LimitSelection): Promise<number>;
  /** Lists the addresses that accept requests. */
  addresses(): Promise<readonly PortAddress[]>;
  /** Returns the metrics in the Prometheus text format; only those in `names`, if given. */
  collectMetrics(names?: ReadonlySet<string>): Promise<string>;
  /** Reads the same metrics. */
  readMetrics(): Promise<readonly MetricReading[]>;
  /** Replaces the log filter; see `LogFilter`. */
  setLogLevel(filter: string): Promise<void>;
  /** Traces the next requests. Streams end when the data plane is drained. */
  traceNext(query: TraceQuery): Promise<TraceAnswer>;
  /** Describes the traffic of the last minutes or hours. */
  traffic(query: TrafficQuery): Promise<TrafficReport>;
  /** Lists requests that have ended: those that failed, and a sample of the others. */
  requests(query: RequestQuery): Promise<RequestPage>;
  /**
   * Describes one of them; `undefined` when it was displaced by newer ones.
   * @param id Its `record`, or the value of `x-request-id` of the newest.
   */
  request(id: string): Promise<RequestReport | undefined>;
  /** Describes connections and requests under way. */
  tasks(limit: number): Promise<TaskTree>;
  /** Lists what is kept in memory, with its capacity. */
  stores(): Promise<readonly BoundedStore[]>;
  /** Reads the heaps of threads other than the calling one. */
  heaps(): Promise<readonly ThreadHeap[]>;
  /** Lists the workers that do not respond, by number from 1. */
  stuckWorkers(): readonly number[];
  /** Goes on accepting, but ends each connection after its next response: `drain` follows soon. */
  leave(): Promise<void>;
  /** Stops accepting, lets requests finish for at most `timeoutMs`, then cuts the rest; resolves when everything is closed. */
  drain(timeoutMs: number): Promise<DrainResult>;
}

/** Profiles the threads of a data plane other than the calling one. */
export interface ThreadProfiler {
  /** @param frequency Samples per second. */
  startCpuProfiles(frequency: number): Promise<void>;
  /** Ends the profiles that `startCpuProfiles` has begun. */
  stopCpuProfiles(): Promise<readonly CpuProfile[]>;
  /** Begins to count allocations, until the next `heapProfiles`. */
  startAllocationProfiles(): Promise<void>;
  /** Takes profiles of live memory, or of allocations. */
  heapProfiles(): Promise<readonly StackProfile[]>;
}

/** Selects the requests to trace. */
export interface TraceQuery {
  /** CEL over the request as it arrives. */
  readonly filter?: string | undefined;
  /** Only requests to this gateway. */
  readonly gateway?: string | undefined;
  /** Only requests to this port, as configured. */
  readonly port?: number | undefined;
  /** Number of requests, one after the other; default 1. */
  readonly count?: number;
}

/** The traces, or why there are none: the filter is invalid, or there are too many watchers. */
export type TraceAnswer = { readonly stream: TraceStream } | {
  readonly rejection: "filter" | "watchers";
  readonly message: string;
};

/** Everything under way, for `/debug/tasks`. */
export interface TaskTree extends BackendTasks {
  /** RFC 3339. */
  readonly takenAt: string;
  /** Total numbers, omitted ones included. */
  readonly connections: number;
  readonly requests: number;
  /** Connections and requests beyond `limit`. */
  readonly omitted: number;
  readonly listeners: readonly ListenerTask[];
  /** Keys of identity providers; `fetchingMs` is set during a fetch. */
  readonly keySets: readonly DocumentDescription[];
  /** Metadata of authorization servers; `fetchingMs` is set during a fetch. */
  readonly providerMetadata: readonly DocumentDescription[];
  /** Global limits, with the share that this process holds. */
  readonly leases: readonly unknown[];
  /** Readers of traces. */
  readonly watchers: readonly WatcherState[];
}

/** A port that is open or draining. */
export interface ListenerTask {
  /** As configured. */
  readonly port: number;
  readonly state: "accepting" | "draining";
  /** Connections with requests first. */
  readonly connections: readonly ConnectionTask[];
}

/** A downstream connection. */
export interface ConnectionTask {
  readonly peer: string;
  /** `http/1.1` or `h2`. */
  readonly protocol: string;
  readonly ageMs: number;
  /** Number of the worker, from 1; omitted without workers. */
  readonly worker?: number;
  readonly requests: readonly RequestTask[];
}

/** A request under way. */
export interface RequestTask {
  /** Value of `x-request-id`. */
  readonly id: string;
  readonly phase: RequestPhase;
  readonly ageMs: number;
  readonly method: string;
  readonly host: string;
  /** Without the query. */
  readonly path: string;
  readonly gateway: string | null;
  readonly route: string | null;
  readonly backend: string | null;
  /** `host:port`. */
  readonly endpoint: string | null;
  readonly retries: number;
}

/** The stage of a request: `upstream` until the response head arrives, `response` until the last byte is sent. */
export type RequestPhase =
  | "gateway policies"
  | "route policies"
  | "upstream"
  | "response"
  | "tunnel";

/** A bounded store in memory. */
export interface BoundedStore {
  /** Such as `rateLimitKeys`. */
  readonly name: string;
  /** Identifies one of several, such as a port. */
  readonly scope?: string;
  /** Unit of the counts, such as `keys`. */
  readonly unit: string;
  readonly used: number;
  readonly capacity: number;
}

/** Memory of the JavaScript heap of a thread. */
export interface HeapSize {
  readonly totalBytes: number;
  readonly usedBytes: number;
  readonly limitBytes: number;
  /** Owned by objects of the heap, but outside of it: mostly buffers. */
  readonly externalBytes: number;
}

/** Memory of a worker. */
export interface ThreadHeap extends HeapSize {
  /** From 1. */
  readonly worker: number;
}

/** Requests under way when the gateway stopped. */
export interface DrainResult {
  readonly drained: number;
  /** Still running at the time-out. */
  readonly cut: number;
}

/** The result of applying a configuration. */
export interface ApplyResult {
  readonly applied: boolean;
  readonly diagnostics: readonly ResourceDiagnostic[];
  /** Error that kept valid resources from being applied, such as a port in use. */
  readonly reason?: string;
  /** The port, as configured, that `reason` is about. */
  readonly port?: number;
  /** The address of `port`; omitted for all addresses. */
  readonly address?: string;
  /** Conditions of gateways and routes, when it was applied. */
  readonly outcomes?: Outcomes;
}

/** Reason why a port cannot be opened. */
export type OpenFailure = Pick<ApplyResult, "reason" | "port" | "address">;

/** An address that accepts requests. */
export interface PortAddress {
  /** As configured; 0 for any free port. */
  readonly configuredPort: number;
  /** IP address that the socket is bound to. */
  readonly hostname: string;
  /** Port that the socket is bound to. */
  readonly port: number;
}

/** Top-level keys of `/config_dump` that come from the data plane. */
export type DataPlaneDescription = Description & PolicyStateDescription;

/** State that policies keep and fetch. */
export interface PolicyStateDescription {
  /** State of the keys of identity providers: issuers, source, key IDs, age, next refresh, last error. */
  readonly keySets: readonly DocumentDescription[];
  /** State of the metadata of authorization servers. */
  readonly providerMetadata: readonly DocumentDescription[];
  /** Local limits, then shared ones, each with what is left. */
  readonly budgets: readonly BudgetDescription[];
}

/** Keys or metadata of an identity provider; see `DocumentState` for the other fields. */
export interface DocumentDescription {
  /** URL, file or `inline`. */
  readonly source: string;
  readonly [more: string]: unknown;
}

/** A limit; fields beyond these depend on its kind. */
export interface BudgetDescription {
  /** Place of its configuration, such as `HTTPRoute/default/chat`. */
  readonly scope: string;
  /** Its definition in words. */
  readonly entry: string;
  readonly limit: number;
  /** Such as `requests` or `tokens`. */
  readonly unit: string;
  /** Smallest remaining budget; `undefined` when only a service knows it. */
  readonly remaining?: number;
  /** Length of the window; `undefined` for limits without windows. */
  readonly windowSeconds?: number;
  /** Time to the end of the window; `undefined` when only a service knows it. */
  readonly resetSeconds?: number;
  readonly [more: string]: unknown;
}
