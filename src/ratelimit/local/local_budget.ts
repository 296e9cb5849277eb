import type { BudgetReading } from "../budget.ts";
import {
  type BudgetWindow,
  charge,
  checkTokens,
  CLOSED,
  readWindow,
  refund,
  settle,
  take,
  waitMs,
  type WindowRules,
} from "./budget_window.ts";
import type { Budget, Limit } from "./counter_store.ts";

/** Limit of a budget, with its counters. */
export interface BudgetOwner extends Limit, WindowRules {
  budget(key: string, now: number): LocalBudget;
  admitted: number;
  refused: number;
  tokens: number;
}

/** Budget that one thread uses. */
export class LocalBudget implements Budget, BudgetWindow {
  readonly limit: BudgetOwner;
  readonly key: string;
  /** Neighbours in the order of use; see `LocalRecency`. */
  older: LocalBudget | undefined;
  newer: LocalBudget | undefined;
  available: number;
  openedAt = CLOSED;

  constructor(limit: BudgetOwner, key: string) {
    this.limit = limit;
    this.key = key;
    this.available = limit.capacity;
  }

  allows(now: number): boolean {
    settle(this, this.limit, now);
    return this.available > 0;
  }

  take(now: number): void {
    settle(this, this.limit, now);
    take(this, this.limit, now);
    this.limit.admitted++;
  }

  reject(): void {
    this.limit.refused++;
  }

  debit(tokens: number, now: number): void {
    checkTokens(tokens);
    if (this.limit.definition.unit === "requests" || tokens === 0) return;
    this.limit.tokens += tokens;
    // This object may have been evicted while the response was in progress.
    const budget = this.limit.budget(this.key, now);
    settle(budget, this.limit, now);
    charge(budget, tokens, now);
  }

  refund(takenAt: number, now: number): void {
    settle(this, this.limit, now);
    this.limit.admitted--;
    refund(this, this.limit, takenAt);
  }

  read(now: number): BudgetReading {
    settle(this, this.limit, now);
    return readWindow(this, this.limit, now);
  }

  waitMs(now: number): number {
    settle(this, this.limit, now);
    return waitMs(this, this.limit, now);
  }

  /** Returns the tokens used beyond the budget. */
  overshoot(now: number): number {
    settle(this, this.limit, now);
    return Math.max(0, -this.available);
  }

  /** Reports whether it can be evicted without losing information. */
  isIdle(now: number): boolean {
    settle(this, this.limit, now);
    return this.openedAt === CLOSED;
  }
}
