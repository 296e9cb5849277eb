import type { JsonValue } from "../../base/json.ts";
import type {
  PolicyEvent,
  PolicyVerdict,
} from "../../telemetry/trace/trace_event.ts";

/** Receives reports of policies on a traced request. It redacts secrets: policies report values as they are. */
export interface PolicyTrace {
  /** Reports that the running policy leaves the request unchanged; `reason` is a few words such as `no Origin header`. */
  skip(reason: string): void;
  /** Reports the effect of the running policy on the request; without this call its event has no details. */
  apply(details: JsonValue): void;
  /** Reports the result of an expression: its value, or `{"error": "…"}`. */
  evaluated(expression: string, result: JsonValue): void;
  report(message: PolicyVerdict | PolicyEvent): void;
  /** Records the running policy's wait, such as for `keys of https://idp.example.com/`; settles as `pending` does. */
  waitsFor<T>(whom: string, pending: Promise<T>): Promise<T>;
}

/** Records the wait for a pending value in the trace; returns other values unchanged. */
export function waitFor<T>(
  trace: PolicyTrace | undefined,
  whom: string,
  value: T | Promise<T>,
): T | Promise<T> {
  return trace !== undefined && value instanceof Promise
    ? trace.waitsFor(whom, value)
    : value;
}
