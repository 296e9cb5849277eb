import type { ResourceSet } from "../api/resources/resource_set.ts";
import type { ResourceDiagnostic } from "../base/diagnostic.ts";
import type { FailingPart } from "../telemetry/failures/explanation.ts";
import type { TraceEvent } from "../telemetry/trace/trace_event.ts";
import type {
  TraceStream,
  WatcherState,
} from "../telemetry/trace/trace_watchers.ts";

/**
 * The part that carries traffic, as seen by everything that does not: plain data in, plain data out, so that it may
 * run in this thread or in workers.
 */
export interface DataPlane {
  /** Compiles and puts into force; on any error nothing changes. */
  apply(resources: ResourceSet): Promise<ApplyResult>;
  /** The configuration in force, as `/config_dump` shows it, secrets redacted. */
  describe(): Promise<DataPlaneDescription>;
  /** Of it, what changes while the configuration stays. */
  describeState(): Promise<PolicyStateDescription>;
  /** Where requests are accepted now. */
  addresses(): Promise<readonly PortAddress[]>;
  /** Metrics in the Prometheus text format; only those of `names`, where it is given. */
  collectMetrics(names?: ReadonlySet<string>): Promise<string>;
  /** Replaces the log filter; see `LogFilter`. */
  setLogLevel(filter: string): Promise<void>;
  /** Shows what happens to the next requests. Streams end when the data plane is drained. */
  traceNext(query: TraceQuery): Promise<TraceAnswer>;
  /** The requests that failed last, as far as they are remembered; the newest first. */
  failures(): Promise<readonly FailureSummary[]>;
  /** What is known of the newest failed request with that id. */
  failure(id: string): Promise<FailureReport | undefined>;
  /** What is going on now. */
  tasks(limit: number): Promise<TaskTree>;
  /** What is kept in memory, and how much of the room for it is taken. */
  stores(): Promise<readonly BoundedStore[]>;
  /** Stops accepting, lets requests finish for at most `timeoutMs`, then cuts the rest; resolves when all is closed. */
  drain(timeoutMs: number): Promise<DrainResult>;
}

/** Which requests to trace. */
export interface TraceQuery {
  /** CEL over the request as it arrives. */
  readonly filter?: string | undefined;
  /** Only those of this gateway. */
  readonly gateway?: string | undefined;
  /** Only those that arrive at this port, as configured. */
  readonly port?: number | undefined;
  /** How many, one after the other; 1 when left out. */
  readonly count?: number;
}

/** The traces, or why there are none: the filter is no expression, or too many watch already. */
export type TraceAnswer = { readonly stream: TraceStream } | {
  readonly refusal: "filter" | "watchers";
  readonly message: string;
};

/** A request that failed, in one line. */
export interface FailureSummary {
  /** Value of `x-request-id`; `refused-<n>` for what was refused before it was a request. */
  readonly id: string;
  /** RFC 3339. */
  readonly time: string;
  readonly status: number;
  /** As in the access log. */
  readonly reason: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly gateway: string | null;
  readonly route: string | null;
  readonly backend: string | null;
  /** One sentence. */
  readonly cause: string;
}

/** All that is known of a request that failed. */
export interface FailureReport extends FailureSummary {
  readonly failing: FailingPart | null;
  /** What to do about it. */
  readonly advice: string;
  readonly durationMs: number | null;
  readonly retries: number;
  /** As much of its trace as is remembered. */
  readonly events: readonly TraceEvent[];
}

/** What is going on, as `/debug/tasks` shows it. */
export interface TaskTree {
  /** RFC 3339. */
  readonly takenAt: string;
  /** All of them, also those that are left out below. */
  readonly connections: number;
  readonly requests: number;
  /** Connections and requests that are left out because there are more than `limit`. */
  readonly omitted: number;
  readonly listeners: readonly ListenerTask[];
  readonly upstreams: readonly UpstreamTask[];
  /** Keys of identity providers, each with `fetchingMs` while it is being fetched. */
  readonly keySets: readonly unknown[];
  /** Metadata of authorization servers, likewise. */
  readonly providerMetadata: readonly unknown[];
  /** Global limits, with what this process holds of them. */
  readonly leases: readonly unknown[];
  /** Who waits for traces. */
  readonly watchers: readonly WatcherState[];
}

/** A port that is open, or drains. */
export interface ListenerTask {
  /** As configured. */
  readonly port: number;
  readonly state: "accepting" | "draining";
  /** Those with requests first. */
  readonly connections: readonly ConnectionTask[];
}

/** A client's connection. */
export interface ConnectionTask {
  readonly peer: string;
  /** `http/1.1` or `h2`. */
  readonly protocol: string;
  readonly ageMs: number;
  readonly requests: readonly RequestTask[];
}

/** A request that is under way. */
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

/** How far a request has come: `upstream` until the head of the response is here, `response` while it is passed on. */
export type RequestPhase =
  | "gateway policies"
  | "route policies"
  | "upstream"
  | "response"
  | "tunnel";

/** The connections to a backend. */
export interface UpstreamTask {
  /** `host:port`. */
  readonly endpoint: string;
  /** Open connections with a request. */
  readonly active: number;
  readonly idle: number;
  /** Requests that wait for a connection. */
  readonly waiting: number;
}

/** Something that is kept in memory, never more than its capacity. */
export interface BoundedStore {
  /** Such as `rateLimitKeys`. */
  readonly name: string;
  /** Which one, where there are several, such as a port. */
  readonly scope?: string;
  /** What is counted, such as `keys`. */
  readonly unit: string;
  readonly used: number;
  readonly capacity: number;
}

/** Requests that were under way at the stop. */
export interface DrainResult {
  readonly drained: number;
  /** Still running when the time was over. */
  readonly cut: number;
}

/** What became of a configuration. */
export interface ApplyResult {
  readonly applied: boolean;
  readonly diagnostics: readonly ResourceDiagnostic[];
  /** Why it was not applied although nothing is wrong with the resources, such as a port that is taken. */
  readonly reason?: string;
  /** The port, as configured, that `reason` is about. */
  readonly port?: number;
}

/** An address that accepts requests. */
export interface PortAddress {
  /** As configured; 0 asked for any. */
  readonly configuredPort: number;
  /** IP address that the socket is bound to. */
  readonly hostname: string;
  /** Port that the socket is bound to. */
  readonly port: number;
}

/** Top-level keys of `/config_dump` that the data plane knows. */
export interface DataPlaneDescription extends PolicyStateDescription {
  readonly binds: readonly unknown[];
  readonly listeners: readonly unknown[];
  readonly routes: readonly unknown[];
  readonly backends: readonly unknown[];
  readonly policies: readonly unknown[];
}

/** What policies remember and fetch. */
export interface PolicyStateDescription {
  /** State of the keys of identity providers: source, age, last error. */
  readonly keySets: readonly unknown[];
  /** The same of the metadata of their authorization servers. */
  readonly providerMetadata: readonly unknown[];
  /** Limits of this process, then those it shares: what is left of each. */
  readonly budgets: readonly BudgetDescription[];
}

/** A limit, and more about it than every limit has. */
export interface BudgetDescription {
  /** Where it is configured, such as `HTTPRoute/default/chat`. */
  readonly scope: string;
  /** Its definition in words. */
  readonly entry: string;
  readonly limit: number;
  /** Left of the budget that has least; `undefined` where only a service knows. */
  readonly remaining?: number;
  readonly [more: string]: unknown;
}
