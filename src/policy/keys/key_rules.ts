import type { ResponseMessage } from "../../http/message.ts";
import type { Policy, PolicyContext } from "../contract/policy.ts";
import type { PolicyOptions } from "../contract/policy_kind.ts";
import { servicesIn } from "../contract/policy_services.ts";
import { Rejection } from "../contract/rejection.ts";
import { defineSlot } from "../contract/slot.ts";
import { KeyAccess } from "./key_access.ts";
import {
  type BudgetDependencies,
  KeyBudgets,
  shareLimiter,
} from "./key_budgets.ts";
import type { KeyCaller } from "./key_caller.ts";
import { NoticeBoard } from "./notice_board.ts";
import { storedKeyServices } from "./stored_keys.ts";

/** Reasons for which the rules of a key reject a request. */
export type KeyRuleReason = "api_key_access" | "api_key_budget";

type Denial = Rejection<KeyRuleReason>;

/** The rules of the caller that have seen the request. */
const seenRules = defineSlot<Policy[]>("keyRules");

/** Enforces what keys, users and teams are restricted to, and their budgets. */
export class KeyRules {
  readonly #dependencies: BudgetDependencies;
  /** A caller is the same object until its key, its user or its team changes. */
  readonly #ofCallers = new WeakMap<
    KeyCaller,
    readonly Policy<KeyRuleReason>[]
  >();

  constructor(options: PolicyOptions) {
    const { notify } = servicesIn(options.services, storedKeyServices);
    this.#dependencies = {
      options: shareLimiter(options),
      notices: new NoticeBoard(options.services.clock, notify),
    };
  }

  onRequest(
    context: PolicyContext,
    caller: KeyCaller,
  ): Denial | undefined | Promise<Denial | undefined> {
    const rules = this.#ofCallers.getOrInsertComputed(
      caller,
      () => this.#create(caller),
    );
    return this.#run(context, rules.values());
  }

  onResponse(
    context: PolicyContext,
    response: ResponseMessage,
  ): void | Promise<void> {
    const seen = context.slots.get(seenRules);
    return seen === undefined
      ? undefined
      : runInReverse(seen, context, response);
  }

  /** Runs rules until one denies; without a promise while there is nothing to wait for. */
  #run(
    context: PolicyContext,
    rules: Iterator<Policy<KeyRuleReason>>,
  ): Denial | undefined | Promise<Denial | undefined> {
    for (;;) {
      const { done, value: rule } = rules.next();
      if (done) return undefined;
      note(context, rule);
      const verdict = rule.onRequest?.(context);
      if (verdict instanceof Promise) {
        return verdict.then((each) =>
          each instanceof Rejection ? each : this.#run(context, rules)
        );
      }
      if (verdict instanceof Rejection) return verdict;
    }
  }

  #create(caller: KeyCaller): readonly Policy<KeyRuleReason>[] {
    const { services } = this.#dependencies.options;
    return [
      ...caller.allows.map((allow) => new KeyAccess(caller, allow, services)),
      ...caller.budgets.length === 0
        ? []
        : [new KeyBudgets(caller, this.#dependencies)],
    ];
  }
}

async function runInReverse(
  seen: readonly Policy[],
  context: PolicyContext,
  response: ResponseMessage,
): Promise<void> {
  for (const rule of seen.toReversed()) {
    await rule.onResponse?.(context, response);
  }
}

function note({ slots }: PolicyContext, rule: Policy): void {
  const seen = slots.get(seenRules);
  if (seen === undefined) slots.set(seenRules, [rule]);
  else seen.push(rule);
}
