import type { Clock } from "../../base/clock.ts";
import type { BudgetReading, Use } from "../../ratelimit/budget.ts";
import type { Budget } from "../../ratelimit/local/counter_store.ts";
import { defineSlot } from "../slot.ts";
import type { GlobalAdmission } from "./rate_limit_global.ts";

/** Set by the rate limits that admitted the request. */
export const admissionSlot = defineSlot<Admission>("rateLimit");

/** The budgets that an admitted request counts against. */
export class Admission {
  readonly #clock: Clock;
  readonly #budgets: readonly Budget[];
  readonly global: readonly GlobalAdmission[];

  constructor(
    clock: Clock,
    budgets: readonly Budget[],
    global: readonly GlobalAdmission[] = [],
  ) {
    this.#clock = clock;
    this.#budgets = budgets;
    this.global = global;
  }

  /** Returns the admission of the same request by global budgets too. */
  with(global: readonly GlobalAdmission[]): Admission {
    return new Admission(this.#clock, this.#budgets, global);
  }

  /** Returns the admission of the same request by two policies. */
  and(other: Admission): Admission {
    return new Admission(
      this.#clock,
      [...this.#budgets, ...other.#budgets],
      [...this.global, ...other.global],
    );
  }

  /** Returns the current state of the budgets. */
  readings(): readonly BudgetReading[] {
    const readings: BudgetReading[] = [];
    if (this.#budgets.length > 0) {
      const now = Math.floor(this.#clock.monotonic());
      for (const budget of this.#budgets) readings.push(budget.read(now));
    }
    for (const each of this.global) readings.push(...each.readings);
    return readings;
  }

  /** Charges what the request used to the current windows. */
  debit(use: Use): void {
    const now = Math.floor(this.#clock.monotonic());
    for (const budget of this.#budgets) budget.debit(use, now);
    for (const admission of this.global) admission.debit(use);
  }

  /** Refunds the charges to local budgets. */
  refund(takenAt: number): void {
    const now = Math.floor(this.#clock.monotonic());
    for (const budget of this.#budgets) budget.refund(takenAt, now);
  }
}
