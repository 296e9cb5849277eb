import type { Clock } from "../../base/clock.ts";
import {
  type BudgetReading,
  isEnforcedLater,
  type Use,
} from "../../ratelimit/budget.ts";
import type { Budget } from "../../ratelimit/local/counter_store.ts";
import { defineSlot } from "../slot.ts";
import type { GlobalAdmission } from "./rate_limit_global.ts";

/** Set by the rate limits that admitted the request. */
export const admissionSlot = defineSlot<Admission>("rateLimit");

/** The budgets that an admitted request counts against. */
export class Admission {
  readonly #clock: Clock;
  readonly #budgets: readonly Budget[];
  /** Most that the request is expected to use. */
  readonly #expected: Use;
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
    const now = Math.floor(this.#clock.monotonic());
    for (const budget of this.#budgets) {
      budget.release(this.#expected, now);
      budget.debit(use, now);
    }
    for (const admission of this.global) admission.settle(use);
  }

  /** Charges a part of what the request uses; returns whether a budget is used up, so that it has to end. */
  charge(use: Use): boolean | Promise<boolean> {
    const now = Math.floor(this.#clock.monotonic());
    for (const budget of this.#budgets) budget.debit(use, now);
    for (const admission of this.global) admission.charge(use);
    const isUsedUp = this.#budgets.some((budget) =>
      isEnforcedLater(budget.limit.definition) && !budget.allows(now)
    );
    if (isUsedUp || this.global.length === 0) return isUsedUp;
    const checks = this.global.map((admission) => admission.isUsedUp());
    return Promise.all(checks).then((each) => each.includes(true));
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
