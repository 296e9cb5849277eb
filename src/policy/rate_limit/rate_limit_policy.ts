import {
  globalVerdict,
  localVerdict,
  SoftLimits,
} from "./rate_limit_verdict.ts";
import {
  type RateLimitServices,
  rateLimitServices,
} from "./rate_limit_services.ts";
import type { RateLimit } from "./rate_limit_schema.ts";
import type { ResponseMessage } from "../../http/message.ts";
import {
  type BodyUse,
  joinBodyUses,
  readBodyVariables,
} from "../expressions/body_variables.ts";
import type {
  Policy,
  PolicyContext,
  RequestVerdict,
} from "../contract/policy.ts";
import {
  type PolicyServices,
  servicesIn,
} from "../contract/policy_services.ts";
import { exposedHeaders } from "../http/cors.ts";
import {
  onEnd,
  onUsage,
  type UsageListener,
  type UsageRules,
} from "../contract/request_listeners.ts";
import { readExpectedUse } from "./expected_use.ts";
import { denyingPolicy } from "../contract/define_policy.ts";
import type { CombinedLayer } from "../contract/policy_kind.ts";
import { checkRateLimit } from "./rate_limit_checks.ts";
import {
  Admission,
  admissionSlot,
  settleOnce,
} from "./rate_limit_admission.ts";
import {
  type GlobalAdmission,
  GlobalLimits,
  type GlobalVerdict,
} from "./rate_limit_global.ts";
import {
  limitHeaders,
  writeAddedHeaders,
  type WriteLimits,
  writeStandardHeaders,
  writeUsualHeaders,
} from "./rate_limit_headers.ts";
import { LocalLimits } from "./rate_limit_local.ts";
import {
  rejectGlobally,
  rejectLocally,
  rejectUndecided,
} from "./rate_limit_rejection.ts";
import type { TokenUsage } from "../../llm/usage/token_usage.ts";
import {
  isOfRequests,
  noUse,
  type Use,
} from "../../ratelimit/budget/budget.ts";
import type { Budget } from "../../ratelimit/local/counter_store.ts";
import { takeAll } from "../../ratelimit/local/take_all.ts";
import { RequestVariables } from "../expressions/request_variables.ts";

/** Limits of a target. */
interface RateLimitLayer extends CombinedLayer<RateLimit> {
  /** Whose budgets the descriptors of `global` are, such as `team blue`; without, they belong to its domain. */
  readonly owners?: readonly string[];
}

/**
 * Creates one policy from the limits of a route and of its gateway, so that a rejected request is charged to none of them.
 *
 * Local budgets are charged first, then the global ones; if a global limit rejects the request, all earlier charges are refunded.
 * Tokens are charged at the end of the response.
 */
export function createRateLimit(
  layers: readonly RateLimitLayer[],
): Policy<"rate_limit"> {
  const [first] = layers;
  if (first === undefined) return {};
  const global = layers.flatMap(({ config, options, owners }) => {
    if (config.global === undefined) return [];
    const { hide, services } = options;
    const { globalLimiter } = servicesIn(services, rateLimitServices);
    const limiter = globalLimiter(config.global, options);
    const { log, sensitiveHeaders } = services;
    const dependencies = { log, hide, sensitiveHeaders, owners };
    return [limiter && new GlobalLimits(config.global, limiter, dependencies)];
  });
  if (global.includes(undefined)) {
    return denyingPolicy("The shared rate limiter is not available");
  }
  const { services, services: { log, sensitiveHeaders }, hide } = first.options;
  const { counters, prices } = servicesIn(services, rateLimitServices);
  const local = new LocalLimits(
    layers.map(({ scope, config }) => ({ scope, limits: config.local ?? [] })),
    { counters, log, hide, sensitiveHeaders },
  );
  return new RateLimitPolicy({
    clock: services.clock,
    prices,
    maxLlmBodyBytes: services.maxLlmBodyBytes,
    local,
    global: global.filter((each) => each !== undefined),
    softLimits: new SoftLimits(services.clock, log),
    usageRules: usageRulesOf(layers.map(({ config }) => config)),
    writeLimits: layers.some(({ config }) => config.headers === "Standard")
      ? writeStandardHeaders
      : writeUsualHeaders,
  });
}

function usageRulesOf(configs: readonly RateLimit[]): UsageRules {
  return {
    mayRequestUsage: configs.every((each) => each.includeUsage !== false),
    drains: configs.every((each) => each.onDisconnect !== "Estimate"),
    deniesUnknown: configs.some((each) => each.unknownUsage === "Deny"),
  };
}

interface RateLimitOptions
  extends Pick<PolicyServices, "clock" | "maxLlmBodyBytes"> {
  readonly prices: RateLimitServices["prices"];
  readonly local: LocalLimits;
  readonly global: readonly GlobalLimits[];
  readonly usageRules: UsageRules;
  readonly softLimits: SoftLimits;
  readonly writeLimits: WriteLimits;
}

/** A request that has passed the local limits and some of the global ones. */
interface PendingAdmission {
  readonly context: PolicyContext;
  /** Most that the request is expected to use. */
  readonly expected: Use;
  readonly variables: RequestVariables;
  /** Charges of local budgets, and when they were made. */
  readonly taken: { readonly local: Admission; readonly at: number };
  /** Admissions by the global limits decided so far. */
  readonly admissions: GlobalAdmission[];
}

type Verdict = RequestVerdict<"rate_limit">;

class RateLimitPolicy implements Policy<"rate_limit"> {
  readonly #options: RateLimitOptions;
  readonly #bodyUse: BodyUse | undefined;
  readonly #countsTokens: boolean;
  readonly #countsCost: boolean;
  readonly #reserves: boolean;
  /** Some budget holds something until the end of a request. */
  readonly #holds: boolean;
  /** Admission for all requests; `undefined` when it depends on the request. */
  readonly #fixed: Admission | undefined;

  constructor(options: RateLimitOptions) {
    const { local, global, clock } = options;
    this.#options = options;
    const all = [local, ...global];
    this.#bodyUse = joinBodyUses(all.map(({ bodyUse }) => bodyUse));
    this.#countsTokens = all.some(({ units }) =>
      units.some((unit) => !isOfRequests(unit))
    );
    this.#reserves = all.some(({ reserves }) => reserves);
    this.#holds = this.#reserves || local.units.includes("concurrentRequests");
    this.#countsCost = all.some(({ units }) => units.includes("usd"));
    const isFixed = global.length === 0 && !this.#reserves;
    this.#fixed = local.fixed && isFixed
      ? new Admission(clock, local.fixed, noUse)
      : undefined;
  }

  /** Warns of an exhausted budget that rejects nothing. */
  readonly #warnOfBudget = ({ limit: { name, scope } }: Budget) =>
    this.#options.softLimits.warn(name, scope);

  onRequest(context: PolicyContext): Verdict | Promise<Verdict> {
    context.slots.set(exposedHeaders, limitHeaders);
    return this.#bodyUse === undefined && !this.#reserves
      ? this.#decide(context, noUse)
      : this.#readAndDecide(context);
  }

  async #readAndDecide(context: PolicyContext): Promise<Verdict> {
    if (this.#bodyUse !== undefined) {
      await readBodyVariables(context, this.#bodyUse);
    }
    if (!this.#reserves) return await this.#decide(context, noUse);
    const expected = await readExpectedUse(context, this.#options);
    return await this.#decide(context, expected);
  }

  onResponse({ slots }: PolicyContext, response: ResponseMessage): void {
    const admission = slots.get(admissionSlot);
    if (admission === undefined) return;
    this.#options.writeLimits(response.headers, admission.readings());
    for (const { responseHeaders } of admission.global) {
      writeAddedHeaders(response.headers, responseHeaders);
    }
  }

  #decide(context: PolicyContext, expected: Use): Verdict | Promise<Verdict> {
    const { clock, local, global, writeLimits } = this.#options;
    const { limits } = local;
    const now = Math.floor(clock.monotonic());
    const variables = local.fixed !== undefined && global.length === 0
      ? undefined
      : new RequestVariables(context);
    const budgets = local.fixed ??
      (variables === undefined ? [] : local.budgets(variables, context, now));
    const onSoft = this.#warnOfBudget;
    const exhausted = takeAll(budgets, now, { expected, onSoft });
    if (exhausted !== undefined) {
      const key = variables && local.shownKey(exhausted.limit, variables);
      const state = { budget: exhausted, budgets, limits, now, expected, key };
      return rejectLocally(state, writeLimits);
    }
    if (context.trace !== undefined && limits.length > 0) {
      context.trace.report(localVerdict(limits, budgets, undefined, now));
    }
    if (variables === undefined || global.length === 0) {
      const admission = this.#fixed ?? new Admission(clock, budgets, expected);
      return this.#admit(context, admission);
    }
    const taken = { local: new Admission(clock, budgets, expected), at: now };
    const pending = { context, expected, variables, taken, admissions: [] };
    return this.#decideGlobally(pending);
  }

  /** Requests a decision from the remaining global limits, one after the other. */
  #decideGlobally(pending: PendingAdmission): Verdict | Promise<Verdict> {
    const limits = this.#options.global[pending.admissions.length];
    if (limits === undefined) return this.#admitGlobally(pending);
    const { variables, context, expected } = pending;
    const verdict = limits.admit(variables, context, expected);
    return verdict instanceof Promise
      ? verdict.then((each) => this.#onGlobalVerdict(pending, limits, each))
      : this.#onGlobalVerdict(pending, limits, verdict);
  }

  #onGlobalVerdict(
    pending: PendingAdmission,
    limits: GlobalLimits,
    verdict: GlobalVerdict,
  ): Verdict | Promise<Verdict> {
    const { context, taken, variables, admissions } = pending;
    if (verdict.verdict === "admitted") {
      admissions.push(verdict);
      for (const name of limits.exceededBy(verdict)) {
        this.#options.softLimits.warn(name, `domain "${limits.domain}"`);
      }
      context.trace?.report(globalVerdict(limits, verdict));
      return this.#decideGlobally(pending);
    }
    for (const admission of admissions) admission.refund();
    taken.local.refund(taken.at);
    return verdict.verdict === "refused"
      ? rejectGlobally(limits, verdict, variables, this.#options.writeLimits)
      : rejectUndecided(verdict.message);
  }

  #admitGlobally({ context, taken, admissions }: PendingAdmission): void {
    for (const { requestHeaders } of admissions) {
      writeAddedHeaders(context.request.headers, requestHeaders);
    }
    this.#admit(context, taken.local.with(admissions));
  }

  #admit(context: PolicyContext, admission: Admission): void {
    const earlier = context.slots.get(admissionSlot);
    context.slots.set(admissionSlot, earlier?.and(admission) ?? admission);
    if (!this.#holds && !this.#countsTokens) return;
    const settle = settleOnce(admission);
    if (this.#holds) onEnd(context, () => settle(noUse));
    if (!this.#countsTokens) return;
    const listener: UsageListener = {
      settle: (usage) => settle(this.#priced(usage)),
      charge: (usage, next) => admission.charge(this.#priced(usage), next),
    };
    onUsage(context, listener, this.#options.usageRules);
  }

  /** Returns the usage; warns if a budget counts its cost, and its model has no price. */
  #priced(usage: TokenUsage): TokenUsage {
    const { isPriced, responseModel: model, host } = usage;
    if (this.#countsCost && !isPriced) {
      this.#options.prices.warnUnknown({ model, host });
    }
    return usage;
  }
}

/** The code of the kind. */
export const code = { check: checkRateLimit, create: createRateLimit };
