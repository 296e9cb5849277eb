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
const seenRules = defineSlot<readonly Policy[]>("keyRules");

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
    return this.#run(context, rules, 0);
  }

  onResponse(
    context: PolicyContext,
    response: ResponseMessage,
  ): void | Promise<void> {
    const seen = context.slots.get(seenRules);
    return seen === undefined
      ? undefined
      : runInReverse(seen, seen.length - 1, context, response);
  }

  /** Runs rules from `first` on until one denies; without a promise while there is nothing to wait for. */
  #run(
    context: PolicyContext,
    rules: readonly Policy<KeyRuleReason>[],
    first: number,
  ): Denial | undefined | Promise<Denial | undefined> {
    for (let index = first; index < rules.length; index++) {
      const verdict = rules[index]?.onRequest?.(context);
      if (verdict instanceof Promise) {
        return verdict.then((each) => {
          if (!(each instanceof Rejection)) {
            return this.#run(context, rules, index + 1);
          }
          note(context, rules, index + 1);
          return each;
        });
      }
      if (verdict instanceof Rejection) {
        note(context, rules, index + 1);
        return verdict;
      }
    }
    note(context, rules, rules.length);
    return undefined;
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

/** Runs response hooks from `last` to the first one; without a promise while there is nothing to wait for. */
function runInReverse(
  seen: readonly Policy[],
  last: number,
  context: PolicyContext,
  response: ResponseMessage,
): void | Promise<void> {
  for (let index = last; index >= 0; index--) {
    const done = seen[index]?.onResponse?.(context, response);
    if (done instanceof Promise) {
      return done.then(() => runInReverse(seen, index - 1, context, response));
    }
  }
}

/** Notes that the first `count` rules have seen the request; the gateway may have had rules of its own before. */
function note(
  { slots }: PolicyContext,
  rules: readonly Policy[],
  count: number,
): void {
  const before = slots.get(seenRules);
  const seen = count === rules.length ? rules : rules.slice(0, count);
  slots.set(seenRules, before === undefined ? seen : [...before, ...seen]);
}
