import type { BudgetDefinition, BudgetReading } from "../budget.ts";
import type { Budget, Limit } from "./counter_store.ts";

/** Limit of a budget, with its counters. */
export interface BudgetOwner extends Limit {
  readonly definition: BudgetDefinition;
  /** Base and burst together. */
  readonly capacity: number;
  budget(key: string, now: number): LocalBudget;
  admitted: number;
  refused: number;
  tokens: number;
}

/** Marks a closed window, in place of its opening time. */
const CLOSED = -1;

/**
 * Budget in this process. It starts full and closed. The first request opens a window; at its end `base` is added, up to the
 * capacity. Then a full budget closes; otherwise the next window opens without a gap. Ended windows are accounted for on the next
 * access, so there is no timer.
 */
export class LocalBudget implements Budget {
  readonly limit: BudgetOwner;
  readonly key: string;
  /** Neighbours in the order of use; see `LocalRecency`. */
  older: LocalBudget | undefined;
  newer: LocalBudget | undefined;
  /** Negative if more than the budget was used. */
  #available: number;
  #openedAt = CLOSED;

  constructor(limit: BudgetOwner, key: string) {
    this.limit = limit;
    this.key = key;
    this.#available = limit.capacity;
  }

  allows(now: number): boolean {
    this.#settle(now);
    return this.#available > 0;
  }

  take(now: number): void {
    this.#settle(now);
    if (this.#openedAt === CLOSED) this.#openedAt = now;
    if (this.limit.definition.unit === "requests") this.#available--;
    this.limit.admitted++;
  }

  reject(): void {
    this.limit.refused++;
  }

  debit(tokens: number, now: number): void {
    if (!Number.isSafeInteger(tokens) || tokens < 0) {
      throw new RangeError(
        `Cannot charge tokens: expected a whole number of 0 or more, got ${tokens}`,
      );
    }
    if (this.limit.definition.unit === "requests" || tokens === 0) return;
    this.limit.tokens += tokens;
    // This object may have been evicted while the response was in progress.
    this.limit.budget(this.key, now).#charge(tokens, now);
  }

  refund(takenAt: number, now: number): void {
    this.#settle(now);
    this.limit.admitted--;
    const isOver = this.#openedAt === CLOSED || takenAt < this.#openedAt;
    if (this.limit.definition.unit === "tokens" || isOver) return;
    this.#available++;
    if (this.#isFull) this.#openedAt = CLOSED;
  }

  read(now: number): BudgetReading {
    this.#settle(now);
    const { definition: { unit, windowMs }, capacity: limit } = this.limit;
    const remaining = Math.max(0, this.#available);
    return { unit, limit, remaining, resetMs: this.#resetMs(now), windowMs };
  }

  waitMs(now: number): number {
    if (this.allows(now)) return 0;
    const { base, overshoot, windowMs } = this.limit.definition;
    const debt = overshoot === "Carry" ? -this.#available : 0;
    return this.#resetMs(now) + Math.floor(debt / base) * windowMs;
  }

  /** Returns the tokens used beyond the budget. */
  overshoot(now: number): number {
    this.#settle(now);
    return Math.max(0, -this.#available);
  }

  /** Reports whether it can be evicted without losing information. */
  isIdle(now: number): boolean {
    this.#settle(now);
    return this.#openedAt === CLOSED;
  }

  get #isFull(): boolean {
    return this.#available === this.limit.capacity;
  }

  #charge(tokens: number, now: number): void {
    this.#settle(now);
    if (this.#openedAt === CLOSED) this.#openedAt = now;
    this.#available -= tokens;
  }

  #resetMs(now: number): number {
    const { windowMs } = this.limit.definition;
    return this.#openedAt === CLOSED
      ? windowMs
      : this.#openedAt + windowMs - now;
  }

  /** Accounts for the windows that have ended. */
  #settle(now: number): void {
    const { capacity, definition: { base, overshoot, windowMs } } = this.limit;
    if (this.#openedAt === CLOSED || now < this.#openedAt + windowMs) return;
    const windows = Math.floor((now - this.#openedAt) / windowMs);
    const kept = overshoot === "Carry"
      ? this.#available
      : Math.max(0, this.#available);
    this.#available = Math.min(capacity, kept + windows * base);
    this.#openedAt = this.#isFull
      ? CLOSED
      : this.#openedAt + windows * windowMs;
  }
}
