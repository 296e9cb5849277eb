import type { ServiceSlices } from "../api/resources/cluster_kinds.ts";
import type { ResourceSet } from "../api/resources/resource_set.ts";
import type { ApplyResult, DrainResult } from "./apply_result.ts";
import type { CallArguments, CallName, CallResult } from "./calls/calls.ts";
import type { TraceAnswer, TraceQuery } from "./calls/debugging.ts";

/**
 * Carries the traffic. Its interface is plain data in both directions, so that it can run in this thread or in workers.
 */
export interface DataPlane {
  /** Compiles and applies a configuration; on any error nothing changes. */
  apply(resources: ResourceSet): Promise<ApplyResult>;
  /** Replaces the endpoints of some services; the configuration, and the endpoints of other services, stay. */
  setEndpoints(changed: ServiceSlices): Promise<void>;
  /** Calls all threads and merges their results; see `dataPlaneCalls`. */
  call<Name extends CallName>(
    name: Name,
    ...args: CallArguments[Name]
  ): Promise<CallResult[Name]>;
  /** Traces the next requests. Streams end when the data plane is drained. */
  traceNext(query: TraceQuery): Promise<TraceAnswer>;
  /** Workers that do not respond, by number from 1. */
  readonly stuckWorkers: readonly number[];
  /** Reason why the keys in the store may be out of date; `undefined` while they are not. */
  readonly keyringProblem: string | undefined;
  /** Stops accepting, lets requests finish for at most `timeoutMs`, then cuts the rest; resolves when everything is closed. */
  drain(timeoutMs: number): Promise<DrainResult>;
}
