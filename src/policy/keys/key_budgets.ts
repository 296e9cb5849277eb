import type { Policy, PolicyContext } from "../contract/policy.ts";
import type { PolicyOptions } from "../contract/policy_kind.ts";
import {
  type PolicyServices,
  servicesIn,
} from "../contract/policy_services.ts";
import { Rejection } from "../contract/rejection.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { GlobalLimiter } from "../../ratelimit/limiter/global_limiter.ts";
import { admissionSlot } from "../rate_limit/rate_limit_admission.ts";
import { createRateLimit } from "../rate_limit/rate_limit_policy.ts";
import type { GlobalRateLimit } from "../rate_limit/rate_limit_schema.ts";
import {
  type RateLimitServices,
  rateLimitServices,
} from "../rate_limit/rate_limit_services.ts";
import type { KeyCaller } from "./key_caller.ts";
import { describeKey } from "./key_denial.ts";
import type { NoticeBoard } from "./notice_board.ts";

type Denial = Rejection<"api_key_budget">;

/** Namespace of the budgets in the store. */
const DOMAIN = "keys";

/** Dependencies that the budgets of all callers of a policy share. */
export interface BudgetDependencies {
  readonly options: PolicyOptions;
  readonly notices: NoticeBoard;
}

/** Returns dependencies whose budgets are all in one limiter, however many callers there are. */
export function shareLimiter(options: PolicyOptions): PolicyOptions {
  const services = servicesIn(options.services, rateLimitServices);
  const limiter = services.globalLimiter(blockOf([]), options);
  return {
    ...options,
    services: withLimiter(options.services, services, limiter),
  };
}

/** The budgets of a caller: of its key, its user and its team. */
export class KeyBudgets implements Policy<"api_key_budget"> {
  readonly #limits: Policy<"rate_limit">;
  readonly #caller: KeyCaller;
  readonly #notices: NoticeBoard;
  readonly #givesNotice: boolean;

  constructor(caller: KeyCaller, { options, notices }: BudgetDependencies) {
    this.#caller = caller;
    this.#notices = notices;
    this.#givesNotice = caller.budgets.some(({ budget }) =>
      budget.notifyAt !== undefined
    );
    const config = { global: blockOf(caller.budgets.map(descriptorOf)) };
    const owners = caller.budgets.map(({ kind, id }) => `${kind} ${id}`);
    // Expressions are kept with the function that hides their secrets: here, as long as the caller.
    const own = { ...options, hide: (text: string) => text };
    this.#limits = createRateLimit([{
      scope: "",
      config,
      options: own,
      owners,
    }]);
  }

  onRequest(
    context: PolicyContext,
  ): Denial | undefined | Promise<Denial | undefined> {
    const verdict = this.#limits.onRequest?.(context);
    return verdict instanceof Promise
      ? verdict.then((each) => this.#conclude(context, each))
      : this.#conclude(context, verdict);
  }

  onResponse(
    context: PolicyContext,
    response: ResponseMessage,
  ): void | Promise<void> {
    return this.#limits.onResponse?.(context, response);
  }

  #conclude(context: PolicyContext, verdict: unknown): Denial | undefined {
    if (verdict instanceof Rejection) {
      const { message, response, verdict: results } = verdict;
      const owner = `key ${this.#caller.id}`;
      const described = describeKey(this.#caller);
      return new Rejection(
        "api_key_budget",
        message.includes(owner)
          ? message.replace(owner, () => described)
          : `${message} (${described})`,
        response,
        results,
      );
    }
    if (!this.#givesNotice) return undefined;
    const admission = context.slots.get(admissionSlot)?.global.at(-1);
    for (const reading of admission?.readings ?? []) {
      const budget = this.#caller.budgets[reading.index];
      if (budget !== undefined) this.#notices.look(budget, reading);
    }
    return undefined;
  }
}

function withLimiter(
  services: PolicyServices,
  { counters, prices }: RateLimitServices,
  limiter: GlobalLimiter | undefined,
): PolicyServices {
  const ofKinds = services.ofKinds.copy();
  ofKinds.set(rateLimitServices, {
    counters,
    prices,
    globalLimiter: () => limiter,
  });
  return { ...services, ofKinds };
}

function blockOf(
  descriptors: GlobalRateLimit["descriptors"],
): GlobalRateLimit {
  return { domain: DOMAIN, store: "KV", failureMode: "Closed", descriptors };
}

function descriptorOf(
  { kind, id, budget: { notifyAt: _, ...budget } }:
    KeyCaller["budgets"][number],
): GlobalRateLimit["descriptors"][number] {
  return { ...budget, entries: [{ key: kind, value: JSON.stringify(id) }] };
}
