import type { FinishedRequest } from "../log/finished_request.ts";
import type { PolicyVerdict } from "../trace/trace_event.ts";
import type { RequestState, TraceHeaders } from "../trace/trace_state.ts";

/** Record of a request that has ended: no bodies, no credentials, and every string is short. */
export interface RecordedRequest {
  /** Value of `x-request-id` for the upstream; `refused-<n>` for a request that was rejected before it was parsed. */
  readonly id: string;
  readonly finished: FinishedRequest;
  readonly scheme: string;
  /** Names of the parameters, such as `?token=<redacted>`; empty without any. */
  readonly query: string;
  /** A few headers that do not identify the client. */
  readonly requestHeaders: TraceHeaders;
  readonly responseHeaders: TraceHeaders;
  /** Verified identities of the caller, such as `{ name: "basicAuth", holds: "username" }`. */
  readonly identities: readonly {
    readonly name: string;
    readonly holds: string;
  }[];
  /** Key of the route. */
  readonly route: string | undefined;
  readonly backend: RequestState["backend"];
  /** The first routes of the host, when none matched. */
  readonly candidates: readonly string[];
  /** Verdict of the rules or budgets that rejected it. */
  readonly verdict: PolicyVerdict | undefined;
  /** Calls of the upstream, in order. */
  readonly calls: readonly RecordedCall[];
  /** Keys of the backends that were not tried, because they rest after failures. */
  readonly passedOver?: readonly string[];
  /** Reason for which the backend was chosen among several; `undefined` where weights decide. */
  readonly chosenBecause?: string | undefined;
}

/** Outcome of one attempt at the upstream. */
export interface RecordedCall {
  /** Address of the endpoint, such as `10.0.0.1:80`. */
  readonly endpoint: string | undefined;
  readonly status: number | null;
  readonly error: string | null;
  /** Milliseconds from the acceptance of the request to the beginning and the end of the call. */
  readonly startMs: number;
  readonly endMs: number;
}
