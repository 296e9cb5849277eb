import type { Budget, Limit } from "../../ratelimit/local/counter_store.ts";
import type { LimiterRejection } from "../../ratelimit/global_limiter.ts";
import type { GlobalLimits } from "./rate_limit_global.ts";
import {
  seconds,
  writeAddedHeaders,
  type WriteLimits,
} from "./rate_limit_headers.ts";
import { limitUnknown, tooManyRequests } from "./rate_limit_responses.ts";
import {
  failedVerdict,
  globalVerdict,
  localVerdict,
} from "./rate_limit_verdict.ts";
import { Rejection } from "../rejection.ts";

/** A local budget that is used up, and what there is besides. */
export interface Exhaustion {
  readonly budget: Budget;
  /** All that the request counts against. */
  readonly budgets: readonly Budget[];
  /** All that are configured. */
  readonly limits: readonly Limit[];
  readonly now: number;
}

/** Refuses a request whose local budget is used up. */
export function rejectLocally(
  { budget, budgets, limits, now }: Exhaustion,
  writeLimits: WriteLimits,
): Rejection<"rate_limit"> {
  const { scope, name } = budget.limit;
  const response = tooManyRequests();
  writeLimits(response.headers, [budget.read(now)]);
  const wait = String(seconds(budget.waitMs(now)));
  response.headers.set("retry-after", wait);
  const message = `Limit "${name}" of ${scope} is used up`;
  const verdict = localVerdict(limits, budgets, budget, now);
  return new Rejection("rate_limit", message, response, verdict);
}

/** Refuses a request that the limiter of `limits` refused. */
export function rejectGlobally(
  limits: GlobalLimits,
  rejection: LimiterRejection,
  writeLimits: WriteLimits,
): Rejection<"rate_limit"> {
  const { refusedBy, readings, responseHeaders, body } = rejection;
  const response = tooManyRequests(body);
  writeLimits(response.headers, refusedBy ? [refusedBy] : readings);
  if (refusedBy !== undefined) {
    const wait = String(seconds(refusedBy.resetMs));
    response.headers.set("retry-after", wait);
  }
  response.headers.set("x-ext-ratelimited", "true");
  writeAddedHeaders(response.headers, responseHeaders);
  const what = refusedBy === undefined
    ? "A limit"
    : `Limit "${limits.nameOf(refusedBy)}"`;
  const message = `${what} of domain "${limits.domain}" is used up`;
  const verdict = globalVerdict(limits, rejection);
  return new Rejection("rate_limit", message, response, verdict);
}

/** Refuses a request of which nobody can say whether it may pass. @param message Why. */
export function rejectUndecided(message: string): Rejection<"rate_limit"> {
  const verdict = failedVerdict(message);
  return new Rejection("rate_limit", message, limitUnknown(), verdict);
}
