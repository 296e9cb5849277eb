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

/** An exhausted local budget of a request. */
export interface Exhaustion {
  readonly budget: Budget;
  /** All budgets that the request counts against. */
  readonly budgets: readonly Budget[];
  /** All configured limits. */
  readonly limits: readonly Limit[];
  readonly now: number;
}

/** Rejects a request whose local budget is exhausted. */
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

/** Rejects a request that the limiter of `limits` rejected. */
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

/** Rejects a request whose limits could not be evaluated. @param message The cause. */
export function rejectUndecided(message: string): Rejection<"rate_limit"> {
  const verdict = failedVerdict(message);
  return new Rejection("rate_limit", message, limitUnknown(), verdict);
}
