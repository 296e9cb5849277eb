import type { Clock } from "../../base/clock.ts";
import {
  type BudgetReading,
  isEnforcedLater,
  noUse,
  type Use,
} from "../../ratelimit/budget/budget.ts";
import type { Budget } from "../../ratelimit/local/counter_store.ts";
import { holdAll } from "../../ratelimit/local/take_all.ts";
import { defineSlot } from "../contract/slot.ts";
import type { GlobalAdmission } from "./rate_limit_global.ts";

/** Set by the rate limits that admitted the request. */
export const admissionSlot = defineSlot<Admission>("rateLimit");

/** The budgets that an admitted request counts against. */
export class Admission {
  readonly #clock: Clock;
  readonly #budgets: readonly Budget[];
  /** Most that the request is expected to use; of a connection, its next part. */
  #expected: Use;
  #isEnded = false;
  readonly global: readonly GlobalAdmission[];

  constructor(
    clock: Clock,
    budgets: readonly Budget[],
    expected: Use,
    global: readonly GlobalAdmission[] = [],
  ) {
    this.#clock = clock;
    this.#budgets = budgets;
    this.#expected = expected;
    this.global = global;
  }

  /** Returns the admission of the same request by global budgets too. */
  with(global: readonly GlobalAdmission[]): Admission {
    return new Admission(
      this.#clock,
      this.#budgets,
      this.#expected,
      global,
    );
  }

  /** Returns the admission of the same request by two policies, for their readings. */
  and(other: Admission): Admission {
    return new Admission(
      this.#clock,
      [...this.#budgets, ...other.#budgets],
      this.#expected,
      [...this.global, ...other.global],
    );
  }

  /** Returns the current state of the budgets. */
  readings(): readonly BudgetReading[] {
    const readings: BudgetReading[] = [];
    if (this.#budgets.length > 0) {
      const now = Math.floor(this.#clock.monotonic());
      for (const budget of this.#budgets) {
        // It says nothing about the next request: this one is about to end.
        if (budget.limit.definition.unit === "concurrentRequests") continue;
        readings.push(budget.read(now));
      }
    }
    for (const each of this.global) readings.push(...each.readings);
    return readings;
  }

  /** Ends what was held, and charges what the request used to the current windows. Called at most once. */
  settle(use: Use): void {
    this.#isEnded = true;
    const now = Math.floor(this.#clock.monotonic());
    for (const budget of this.#budgets) {
      budget.release(this.#expected, now);
      budget.debit(use, now);
    }
    for (const admission of this.global) admission.settle(use);
  }

  /**
   * Charges a part of what the request uses, and holds the next one in its place; returns whether a budget is used up, so that the
   * request has to end.
   * @param next Most that the next part is expected to use; `undefined` for the last one.
   */
  charge(use: Use, next: Use | undefined): boolean | Promise<boolean> {
    const now = Math.floor(this.#clock.monotonic());
    for (const budget of this.#budgets) budget.debit(use, now);
    const isUsedUp = next !== undefined && !this.#holdNext(next, now);
    const held = isUsedUp ? undefined : next;
    const checks = this.global.map((each) => each.charge(use, held));
    if (isUsedUp || checks.length === 0) return isUsedUp;
    return Promise.all(checks).then((each) => each.includes(true));
  }

  /** Returns whether all local budgets have room for the next part of the request. */
  #holdNext(next: Use, now: number): boolean {
    if (this.#isEnded) return true;
    const reserving: Budget[] = [];
    let isUsedUp = false;
    for (const budget of this.#budgets) {
      const { definition } = budget.limit;
      if (definition.reserves === true) reserving.push(budget);
      else isUsedUp ||= isEnforcedLater(definition) && !budget.allows(now);
    }
    for (const budget of reserving) budget.release(this.#expected, now);
    const isHeld = !isUsedUp && holdAll(reserving, now, next);
    this.#expected = isHeld ? next : noUse;
    return isHeld;
  }

  /** Refunds the charges to local budgets. */
  refund(takenAt: number): void {
    const now = Math.floor(this.#clock.monotonic());
    for (const budget of this.#budgets) {
      budget.release(this.#expected, now);
      budget.refund(takenAt, now);
    }
  }
}

/** Returns a function that settles once: a request ends with its usage, or without any. */
export function settleOnce(admission: Admission): (use: Use) => void {
  let isSettled = false;
  return (use) => {
    if (isSettled) return;
    isSettled = true;
    admission.settle(use);
  };
}
