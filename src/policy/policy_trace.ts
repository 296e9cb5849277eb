import type { JsonValue } from "../base/json.ts";
import type {
  AuthorizationResult,
  PolicyEvent,
  RateLimitResult,
} from "../telemetry/trace/trace_event.ts";

/** What policies tell about a request that somebody watches. Secrets are taken out on the way: tell what you have. */
export interface PolicyTrace {
  /** The policy that runs leaves the request alone; `reason` is a few words such as `no Origin header`. */
  skip(reason: string): void;
  /** What the policy that runs did with the request; without this call its event has no details. */
  apply(details: JsonValue): void;
  /** An expression was evaluated; the result is its value or `{"error": "…"}`. */
  evaluated(expression: string, result: JsonValue): void;
  report(message: AuthorizationResult | RateLimitResult | PolicyEvent): void;
  /** The policy that runs has to wait for somebody, such as `keys of https://idp.example.com/`; passes on what comes of it. */
  waitsFor<T>(whom: string, answer: Promise<T>): Promise<T>;
}

/** What comes of an answer that a request has to wait for, unless it is at hand; whoever watches the request is told. */
export function waitFor<T>(
  trace: PolicyTrace | undefined,
  whom: string,
  answer: T | Promise<T>,
): T | Promise<T> {
  return trace !== undefined && answer instanceof Promise
    ? trace.waitsFor(whom, answer)
    : answer;
}
