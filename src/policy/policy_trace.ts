import type { JsonValue } from "../base/json.ts";
import type {
  AuthorizationResult,
  PolicyEvent,
  RateLimitResult,
} from "../telemetry/trace/trace_event.ts";

/** Receives reports of policies on a traced request. It redacts secrets: policies report values as they are. */
export interface PolicyTrace {
  /** The policy that runs leaves the request alone; `reason` is a few words such as `no Origin header`. */
  skip(reason: string): void;
  /** Reports the effect of the running policy on the request; without this call its event has no details. */
  apply(details: JsonValue): void;
  /** An expression was evaluated; the result is its value or `{"error": "…"}`. */
  evaluated(expression: string, result: JsonValue): void;
  report(message: AuthorizationResult | RateLimitResult | PolicyEvent): void;
  /** The policy that runs has to wait for somebody, such as `keys of https://idp.example.com/`; passes on what comes of it. */
  waitsFor<T>(whom: string, answer: Promise<T>): Promise<T>;
}

/** Awaits a pending value and records the wait in the trace; returns a value that is at hand at once. */
export function waitFor<T>(
  trace: PolicyTrace | undefined,
  whom: string,
  answer: T | Promise<T>,
): T | Promise<T> {
  return trace !== undefined && answer instanceof Promise
    ? trace.waitsFor(whom, answer)
    : answer;
}
