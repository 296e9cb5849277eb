import {
  type BudgetReading,
  heldBy,
  noUse,
  type Use,
} from "../budget/budget.ts";
import {
  allows,
  type BudgetWindow,
  charge,
  checkedAmount,
  CLOSED,
  readWindow,
  refund,
  settle,
  take,
  waitMs,
  type WindowRules,
} from "../budget/budget_window.ts";
import type { Budget, Limit } from "./counter_store.ts";

/** Limit of a budget, with its counters. */
export interface BudgetOwner extends Limit, WindowRules {
  budget(key: string, now: number): LocalBudget;
  /** Converts monotonic time to that of the windows. */
  time(now: number): number;
  admitted: number;
  refused: number;
  /** Tokens or billionths of a US dollar. */
  chargedUnits: number;
  /** Held for requests in progress, over all keys. */
  heldUnits: number;
}

/** Budget that one thread uses. */
export class LocalBudget implements Budget, BudgetWindow {
  readonly limit: BudgetOwner;
  readonly key: string;
  /** Neighbours in the order of use; see `LocalRecency`. */
  older: LocalBudget | undefined;
  newer: LocalBudget | undefined;
  used = 0;
  openedAt = CLOSED;
  held = 0;

  constructor(limit: BudgetOwner, key: string) {
    this.limit = limit;
    this.key = key;
  }

  allows(now: number, expected = noUse): boolean {
    this.#settle(now);
    return allows(this, this.limit, expected);
  }

  take(now: number, expected = noUse): void {
    take(this, this.limit, this.#settle(now), expected);
    this.limit.admitted++;
  }

  hold(expected: Use, now: number): void {
    const held = heldBy(this.limit.definition, expected);
    if (held > 0) this.limit.budget(this.key, now).addHeld(held);
  }

  release(expected: Use, now: number): void {
    const held = heldBy(this.limit.definition, expected);
    if (held > 0) this.limit.budget(this.key, now).addHeld(-held);
  }

  addHeld(amount: number): void {
    const held = Math.max(0, this.held + amount);
    this.limit.heldUnits += held - this.held;
    this.held = held;
  }

  reject(): void {
    this.limit.refused++;
  }

  debit(use: Use, now: number): void {
    const { definition } = this.limit;
    const amount = checkedAmount(definition.unit, use);
    if (amount === 0) return;
    this.limit.chargedUnits += amount;
    // This object may have been evicted while the response was in progress.
    const budget = this.limit.budget(this.key, now);
    charge(budget, definition, amount, budget.#settle(now));
  }

  refund(takenAt: number, now: number): void {
    this.#settle(now);
    this.limit.admitted--;
    refund(this, this.limit, this.limit.time(takenAt));
  }

  read(now: number): BudgetReading {
    return readWindow(this, this.limit, this.#settle(now));
  }

  waitMs(now: number, expected = noUse): number {
    return waitMs(this, this.limit, this.#settle(now), expected);
  }

  /** Returns the tokens used beyond the budget. */
  overshoot(now: number): number {
    this.#settle(now);
    return Math.max(0, this.used - this.limit.capacity);
  }

  /** Reports whether it can be evicted without losing information. */
  isIdle(now: number): boolean {
    this.#settle(now);
    return this.openedAt === CLOSED && this.held === 0;
  }

  /** Accounts for windows that have ended; returns the time of the windows. */
  #settle(now: number): number {
    const time = this.limit.time(now);
    settle(this, this.limit, time);
    return time;
  }
}
