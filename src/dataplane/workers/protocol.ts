import type { ServiceSlices } from "../../api/resources/cluster_kinds.ts";
import type { Settings } from "../../api/settings.ts";
import type { ResourceDiagnostic } from "../../base/diagnostic.ts";
import type { Outcomes } from "../../compile/outcomes/outcomes.ts";
import type { PlannedPort } from "../../proxy/ports/listeners.ts";
import type { PortEvent } from "../../proxy/ports/port_log.ts";
import type { WebUiAccess } from "../../snapshot/backend.ts";
import type { TrafficNews } from "../../telemetry/traffic/traffic_recorder.ts";
import type { TraceEvent } from "../../telemetry/trace/trace_event.ts";
import type { CallArguments, CallName, CallPart } from "../calls/calls.ts";
import type { TraceQuery } from "../calls/debugging.ts";
import type { DrainResult, OpenFailure } from "../apply_result.ts";
import type { FieldsChange } from "./fields_change.ts";
import type { StateCalls } from "../state/state_calls.ts";
import type { SharedState } from "./shared_state.ts";

/** Everything that a worker gets when it starts. */
export interface WorkerStart {
  /** Number of the worker, from 1; a replacement has that of the worker that ended. */
  readonly worker: number;
  readonly settings: Settings;
  /** See `LogFilter`. */
  readonly logFilter: string;
  /** Set when the control thread handles requests to the web UI. */
  readonly hasWebUi: boolean;
  readonly shared: SharedState;
  /** Number of the thread; a replacement has another. */
  readonly thread: number;
}

/**
 * Calls from the control thread to a worker.
 *
 * A configuration goes through `stage` and `open` in all workers before it goes through `commit` in any of them; `abandon` ends
 * it after a failure.
 */
export interface WorkerCalls {
  /** Compiles a configuration, given as a change of the last one that was staged. */
  stage(change: FieldsChange): StageResult;
  /** Forgets the configurations that were staged, and ends one that was not committed. */
  forget(): void;
  /** Opens the new ports; requests on them wait for `commit`. Returns why a port cannot be opened. */
  open(
    claimed: ReadonlyMap<string, number>,
  ): OpenFailure;
  /** Puts the configuration into force; returns which ports have opened and closed. */
  commit(): readonly PortEvent[];
  abandon(): void;
  setEndpoints(changed: ServiceSlices): void;
  /** Counts the responses that clients have received, and reports their traffic before it returns. */
  settle(): void;
  /** Runs the part of a call that is for each thread; see `dataPlaneCalls`. */
  run<Name extends CallName>(
    name: Name,
    args: CallArguments[Name],
  ): CallPart[Name];
  /** Traces the requests that `watch` selects, in turns with the other workers. */
  watch(watch: Watch): void;
  /** Ends a watch. */
  unwatch(id: number): void;
  /** Traces for these watches, and ends others. */
  watchOnly(watches: readonly Watch[]): void;
  drain(timeoutMs: number): DrainResult;
}

/** Calls from a worker to the control thread. */
export interface ControlCalls extends StateCalls, WebUiCalls {
  /** Reports that the worker listens: messages before that could be lost. */
  ready(): void;
  /** Writes lines of the log; resolves when more are welcome. */
  writeLog(lines: string): void;
  /** Writes lines of the access log, likewise. */
  writeAccessLog(lines: string): void;
  /** Adds what the worker has counted. */
  addTraffic(news: TrafficNews): void;
  /** Passes on an event of a traced request. @param turn Number of the request within the watch, from 0. */
  traced(watch: number, turn: number, event: TraceEvent): void;
  /** Reports that the filter of a watch has thrown. */
  traceFailed(watch: number, message: string): void;
}

/** Calls of a worker that relays a request to the web UI; `id` identifies the request. */
export interface WebUiCalls {
  openWebUi(id: number, request: WebUiRequest, access: WebUiAccess): WebUiHead;
  /** Reads the next part of the body; `undefined` is its end. */
  readWebUi(id: number): Uint8Array | undefined;
  /** Ends a request whose client has left. */
  closeWebUi(id: number): void;
}

/** The head of a request to the web UI; it has no body. */
export interface WebUiRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: [name: string, value: string][];
}

/** The head of a response of the web UI. */
export interface WebUiHead {
  readonly status: number;
  readonly headers: [name: string, value: string][];
  readonly hasBody: boolean;
}

/** A watch for requests to trace; the filter is valid. */
export interface Watch extends Omit<TraceQuery, "count"> {
  readonly id: number;
  /** Place of its turns in the shared memory. */
  readonly place: number;
}

/** A compiled configuration. */
export interface StageResult {
  readonly isValid: boolean;
  readonly ports: readonly PlannedPort[];
  /** Its report, as a change of the last one. */
  readonly report: FieldsChange;
}

/** Findings of a compilation. */
export interface StageReport extends Outcomes {
  readonly diagnostics: readonly ResourceDiagnostic[];
}

/** The report before the first configuration. */
export const emptyReport: StageReport = {
  diagnostics: [],
  gateways: [],
  listenerSets: [],
  routes: [],
  policies: [],
};
