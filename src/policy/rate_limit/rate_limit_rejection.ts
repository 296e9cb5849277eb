import {
  type BudgetReading,
  heldBy,
  shownAmount,
  type Use,
} from "../../ratelimit/budget/budget.ts";
import type { Budget, Limit } from "../../ratelimit/local/counter_store.ts";
import type { LimiterRejection } from "../../ratelimit/limiter/global_limiter.ts";
import type { Variables } from "../cel/variables.ts";
import type { GlobalLimits } from "./rate_limit_global.ts";
import {
  seconds,
  writeAddedHeaders,
  type WriteLimits,
} from "./rate_limit_headers.ts";
import {
  failedVerdict,
  globalVerdict,
  localVerdict,
} from "./rate_limit_verdict.ts";
import { Rejection } from "../contract/rejection.ts";
import { BytesBody, textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";

/** An exhausted local budget of a request. */
export interface Exhaustion {
  readonly budget: Budget;
  /** All budgets that the request counts against. */
  readonly budgets: readonly Budget[];
  /** All configured limits. */
  readonly limits: readonly Limit[];
  readonly now: number;
  /** Most that the request is expected to use. */
  readonly expected: Use;
  /** Key of the request for the budget, without secrets; `undefined` for a limit without keys. */
  readonly key: string | undefined;
}

/** Rejects a request whose local budget is exhausted. */
export function rejectLocally(
  { budget, budgets, limits, now, expected, key }: Exhaustion,
  writeLimits: WriteLimits,
): Rejection<"rate_limit"> {
  const { scope, name, definition } = budget.limit;
  const reading = budget.read(now);
  const weight = definition.unit === "requests" ? budget.weight : 1;
  const needed = weight > 1 ? weight : heldBy(definition, expected);
  const problem = problemOf(reading, needed);
  const response = tooManyRequests(textOf(problem));
  writeLimits(response.headers, [reading]);
  if (needed <= definition.base + definition.burst) {
    const wait = String(seconds(budget.waitMs(now, expected)));
    response.headers.set("retry-after", wait);
  } else {
    response.headers.set("x-should-retry", "false");
  }
  const message = `Limit "${name}" of ${scope} ${problem ?? "is used up"}`;
  const verdict = localVerdict(limits, budgets, { budget, key }, now);
  return new Rejection("rate_limit", message, response, verdict);
}

/** Says why a request that fits in no window, or has to wait for others, was rejected; `undefined` if the budget is used up. */
function problemOf(
  { unit, limit, remaining }: BudgetReading,
  needed: number,
): string | undefined {
  if (unit === "concurrentRequests") {
    return `admits at most ${limit} requests at a time`;
  }
  if (remaining === 0 || needed === 0) return undefined;
  const use = unit === "requests"
    ? `counts as ${needed}`
    : `may use ${shownAmount(unit, needed)}`;
  return `has ${remaining} left, and the request ${use}`;
}

function textOf(problem: string | undefined): Uint8Array | undefined {
  return problem === undefined
    ? undefined
    : new TextEncoder().encode(`rate limit exceeded: the limit ${problem}`);
}

/** Rejects a request that the limiter of `limits` rejected. */
export function rejectGlobally(
  limits: GlobalLimits,
  rejection: LimiterRejection,
  variables: Variables,
  writeLimits: WriteLimits,
): Rejection<"rate_limit"> {
  const { refusedBy, needed = 0, readings, responseHeaders } = rejection;
  const problem = refusedBy && problemOf(refusedBy, needed);
  const response = tooManyRequests(rejection.body ?? textOf(problem));
  writeLimits(response.headers, refusedBy ? [refusedBy] : readings);
  if (refusedBy !== undefined) {
    const wait = String(seconds(refusedBy.resetMs));
    response.headers.set("retry-after", wait);
  }
  response.headers.set("x-ext-ratelimited", "true");
  writeAddedHeaders(response.headers, responseHeaders);
  const what = refusedBy === undefined
    ? `A limit of domain "${limits.domain}"`
    : `Limit "${limits.nameOf(refusedBy)}" of ${limits.ownerOf(refusedBy)}`;
  const message = `${what} ${problem ?? "is used up"}`;
  const key = refusedBy && limits.shownKey(refusedBy, variables);
  const verdict = globalVerdict(limits, { ...rejection, key });
  return new Rejection("rate_limit", message, response, verdict);
}

/** Rejects a request whose limits could not be evaluated. @param message The cause. */
export function rejectUndecided(message: string): Rejection<"rate_limit"> {
  const verdict = failedVerdict(message);
  return new Rejection("rate_limit", message, limitUnknown(), verdict);
}

/** Responds with 429 to a request over a limit. @param body Replaces the default text. */
function tooManyRequests(body?: Uint8Array): ResponseMessage {
  return {
    status: 429,
    headers: new HeaderList(["content-type", "text/plain"]),
    body: body === undefined || body.length === 0
      ? textBody("rate limit exceeded")
      : new BytesBody(body),
  };
}

/** Responds with 503 to a request whose limits could not be evaluated. */
function limitUnknown(): ResponseMessage {
  return {
    status: 503,
    headers: new HeaderList([
      ...["content-type", "text/plain"],
      ...["retry-after", "1"],
    ]),
    body: textBody("rate limit failed"),
  };
}
