import type { Clock } from "../base/clock.ts";
import type { BudgetReading } from "../ratelimit/budget.ts";
import type { Budget } from "../ratelimit/counter_store.ts";
import type { SharedAdmission } from "./rate_limit_global.ts";

/** The budgets that an admitted request counts against. */
export class Admission {
  readonly #clock: Clock;
  readonly #budgets: readonly Budget[];
  readonly shared: readonly SharedAdmission[];

  constructor(
    clock: Clock,
    budgets: readonly Budget[],
    shared: readonly SharedAdmission[] = [],
  ) {
    this.#clock = clock;
    this.#budgets = budgets;
    this.shared = shared;
  }

  /** The same request, admitted by shared budgets too. */
  with(shared: readonly SharedAdmission[]): Admission {
    return new Admission(this.#clock, this.#budgets, shared);
  }

  /** The budgets as they are now. */
  readings(): readonly BudgetReading[] {
    const readings: BudgetReading[] = [];
    if (this.#budgets.length > 0) {
      const now = Math.floor(this.#clock.monotonic());
      for (const budget of this.#budgets) readings.push(budget.read(now));
    }
    for (const each of this.shared) readings.push(...each.readings);
    return readings;
  }

  /** Charges the tokens that the request turned out to use, to the windows that are open then. */
  debit(tokens: number): void {
    const now = Math.floor(this.#clock.monotonic());
    for (const budget of this.#budgets) budget.debit(tokens, now);
    for (const admission of this.shared) admission.debit(tokens);
  }

  /** Gives back what the request took of local budgets. */
  refund(takenAt: number): void {
    const now = Math.floor(this.#clock.monotonic());
    for (const budget of this.#budgets) budget.refund(takenAt, now);
  }
}
