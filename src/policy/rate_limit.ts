import type { RateLimit } from "../api/rate_limit.ts";
import type { Clock } from "../base/clock.ts";
import type { ResponseMessage } from "../http/message.ts";
import {
  type BodyUse,
  joinBodyUses,
  readBodyVariables,
} from "./body_variables.ts";
import type { Policy, PolicyContext, RequestVerdict } from "./policy.ts";
import { type CombinedLayer, refusingPolicy } from "./policy_kind.ts";
import { Admission } from "./rate_limit_admission.ts";
import {
  type SharedAdmission,
  SharedLimits,
  type SharedVerdict,
} from "./rate_limit_global.ts";
import {
  limitHeaders,
  writeAddedHeaders,
  type WriteLimits,
  writeStandardHeaders,
  writeUsualHeaders,
} from "./rate_limit_headers.ts";
import { LocalLimits, takeAll } from "./rate_limit_local.ts";
import {
  refuseLocally,
  refuseShared,
  refuseUnknown,
} from "./rate_limit_refusal.ts";
import { localVerdict, sharedVerdict } from "./rate_limit_verdict.ts";
import { RequestVariables } from "./request_variables.ts";

/**
 * The limits of a route and those of its gateway as one policy, so that a request that one of them refuses is charged to none.
 *
 * Local budgets are taken first, then shared ones are asked; when those refuse, the local ones get back what was taken. Tokens are
 * charged when the answer is over.
 */
export function createRateLimit(
  layers: readonly CombinedLayer<RateLimit>[],
): Policy {
  const [first] = layers;
  if (first === undefined) return { kind: "rateLimit" };
  const shared = layers.flatMap(({ config: { global }, options }) => {
    if (global === undefined) return [];
    const limiter = options.services.globalLimiter(global, options);
    const { hide, services: { log } } = options;
    return [limiter && new SharedLimits(global, limiter, { log, hide })];
  });
  if (shared.includes(undefined)) {
    const problem = "The limiter that processes share is not available";
    return refusingPolicy("rateLimit", problem);
  }
  const { services, hide } = first.options;
  const { counters, log } = services;
  const local = new LocalLimits(
    layers.map(({ scope, config }) => ({ scope, limits: config.local ?? [] })),
    { counters, log, hide },
  );
  return new RateLimitPolicy({
    clock: services.clock,
    local,
    shared: shared.filter((each) => each !== undefined),
    mayAskForUsage: layers.every(({ config }) => config.includeUsage !== false),
    writeLimits: layers.some(({ config }) => config.headers === "Standard")
      ? writeStandardHeaders
      : writeUsualHeaders,
  });
}

interface RateLimitOptions {
  readonly clock: Clock;
  readonly local: LocalLimits;
  readonly shared: readonly SharedLimits[];
  /** Whether streamed chats may be changed so that the provider says their usage. */
  readonly mayAskForUsage: boolean;
  readonly writeLimits: WriteLimits;
}

/** A request on its way through the shared limits. */
interface Asking {
  readonly context: PolicyContext;
  readonly variables: RequestVariables;
  /** What it took of local budgets, and when. */
  readonly taken: { readonly local: Admission; readonly at: number };
  /** Of the shared limits that were asked already. */
  readonly admissions: SharedAdmission[];
}

class RateLimitPolicy implements Policy {
  readonly kind = "rateLimit";
  readonly #options: RateLimitOptions;
  readonly #bodyUse: BodyUse | undefined;
  readonly #countsTokens: boolean;
  /** Of every request, where its admission does not depend on it. */
  readonly #fixed: Admission | undefined;

  constructor(options: RateLimitOptions) {
    const { local, shared, clock } = options;
    this.#options = options;
    const all = [local, ...shared];
    this.#bodyUse = joinBodyUses(all.map(({ bodyUse }) => bodyUse));
    this.#countsTokens = all.some(({ countsTokens }) => countsTokens);
    this.#fixed = local.fixed && shared.length === 0
      ? new Admission(clock, local.fixed)
      : undefined;
  }

  onRequest(
    context: PolicyContext,
  ): RequestVerdict | Promise<RequestVerdict> {
    context.exposedHeaders = limitHeaders;
    const use = this.#bodyUse;
    if (use === undefined) return this.#decide(context);
    return readBodyVariables(context, use).then(() => this.#decide(context));
  }

  onResponse({ rateLimit }: PolicyContext, response: ResponseMessage): void {
    if (rateLimit === undefined) return;
    this.#options.writeLimits(response.headers, rateLimit.readings());
    for (const { responseHeaders } of rateLimit.shared) {
      writeAddedHeaders(response.headers, responseHeaders);
    }
  }

  #decide(context: PolicyContext): RequestVerdict | Promise<RequestVerdict> {
    const { clock, local, shared, writeLimits } = this.#options;
    const now = Math.floor(clock.monotonic());
    const variables = local.fixed !== undefined && shared.length === 0
      ? undefined
      : new RequestVariables(context);
    const budgets = local.fixed ??
      (variables === undefined ? [] : local.budgets(variables, context, now));
    const exhausted = takeAll(budgets, now);
    if (exhausted !== undefined) {
      const { limits } = local;
      const exhaustion = { budget: exhausted, budgets, limits, now };
      return refuseLocally(exhaustion, writeLimits);
    }
    if (context.trace !== undefined && local.limits.length > 0) {
      const { limits } = local;
      context.trace.report(localVerdict(limits, budgets, undefined, now));
    }
    if (variables === undefined || shared.length === 0) {
      this.#admit(context, this.#fixed ?? new Admission(clock, budgets));
      return;
    }
    const taken = { local: new Admission(clock, budgets), at: now };
    return this.#askShared({ context, variables, taken, admissions: [] });
  }

  /** Asks the shared limits that were not asked yet, one after the other. */
  #askShared(asking: Asking): RequestVerdict | Promise<RequestVerdict> {
    const limits = this.#options.shared[asking.admissions.length];
    if (limits === undefined) return this.#admitShared(asking);
    const asked = limits.admit(asking.variables, asking.context);
    return asked instanceof Promise
      ? asked.then((verdict) => this.#goOn(asking, limits, verdict))
      : this.#goOn(asking, limits, asked);
  }

  #goOn(
    asking: Asking,
    limits: SharedLimits,
    verdict: SharedVerdict,
  ): RequestVerdict | Promise<RequestVerdict> {
    const { context, taken, admissions } = asking;
    if (verdict.verdict === "admitted") {
      admissions.push(verdict);
      context.trace?.report(sharedVerdict(limits, verdict));
      return this.#askShared(asking);
    }
    for (const admission of admissions) admission.refund();
    taken.local.refund(taken.at);
    if (verdict.verdict === "refused") {
      return refuseShared(limits, verdict, this.#options.writeLimits);
    }
    return refuseUnknown(verdict.message);
  }

  #admitShared({ context, taken, admissions }: Asking): void {
    for (const { requestHeaders } of admissions) {
      writeAddedHeaders(context.request.headers, requestHeaders);
    }
    this.#admit(context, taken.local.with(admissions));
  }

  #admit(context: PolicyContext, admission: Admission): void {
    context.rateLimit = admission;
    if (!this.#countsTokens) return;
    context.llm.onUsage(
      ({ totalTokens }) => admission.debit(totalTokens),
      this.#options.mayAskForUsage,
    );
  }
}
