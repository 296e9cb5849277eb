import type { Clock } from "../../base/clock.ts";
import {
  type BudgetDefinition,
  type BudgetReading,
  shownAmount,
  windowEnd,
} from "../budget/budget.ts";
import { type BudgetRecord, enterWindow, isOver } from "./kv_record.ts";

/** A point in time on the monotonic clock (`now`) and on the clock of records (`time`). */
export interface Moment {
  readonly now: number;
  readonly time: number;
}

/**
 * Record of a budget as this process last read it. Before that, the window is closed and nothing is left.
 *
 * Records use the wall clock, but never a time before a window that was read: the process that opened it has a clock that is ahead, and
 * this process follows it. So windows only move forward, and none ends before its length is over by the clock that is furthest ahead.
 */
export class SeenRecord {
  readonly #budget: BudgetDefinition;
  readonly #clock: Clock;
  #record: BudgetRecord | undefined;
  /** Monotonic time, as `#seenAt`. */
  #resetAt = -Infinity;
  #seenAt = -Infinity;
  #isKnown = false;
  /** Latest point in time used for a record. */
  #reached: Moment = { now: 0, time: -Infinity };

  constructor(budget: BudgetDefinition, clock: Clock) {
    this.#budget = budget;
    this.#clock = clock;
  }

  /** Identifies the window. */
  get openedAt(): number | undefined {
    return this.#record?.openedAt;
  }

  /** Requests or tokens left to take; 0 before the record was read. */
  get available(): number {
    return this.#record === undefined ? 0 : this.#capacity - this.#record.used;
  }

  /** Reports whether the store was ever read, even if it had no record. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Reports whether the window has not ended. */
  isOpen(now: number = this.#clock.monotonic()): boolean {
    return now < this.#resetAt;
  }

  /** Reports whether the window that is open now was open at monotonic time `time`. */
  isWindowOf(time: number): boolean {
    const { openedAt } = this;
    if (!this.isOpen() || openedAt === undefined) return false;
    const lengthMs = windowEnd(this.#budget, openedAt) - openedAt;
    return time >= this.#resetAt - lengthMs;
  }

  /** Returns the age of the record. */
  ageMs(now: number): number {
    return now - this.#seenAt;
  }

  /** Returns the time at which a record is read; never before its window opened. */
  meet(record: BudgetRecord | undefined): Moment {
    const now = this.#clock.monotonic();
    const time = this.#timeAt(now);
    if (record === undefined || record.openedAt <= time) return { now, time };
    this.#reached = { now, time: record.openedAt };
    return this.#reached;
  }

  see(record: BudgetRecord | undefined, at: Moment): void {
    const { now, time } = at;
    this.#reached = at;
    this.#isKnown = true;
    this.#record = record;
    this.#seenAt = now;
    this.#resetAt = record === undefined || isOver(record, this.#budget, time)
      ? -Infinity
      : now + windowEnd(this.#budget, record.openedAt) - time;
  }

  /** Returns the budget at monotonic time `now`, if this process holds `own` more (or less) than the record has. */
  read(own: number, now: number): BudgetReading {
    const resetMs = this.#resetAt - now;
    if (resetMs > 0) return this.#reading(this.available + own, resetMs);
    const last = this.#record && {
      openedAt: this.#record.openedAt,
      used: Math.max(0, this.#record.used - own),
    };
    const time = this.#timeAt(now);
    const { used, openedAt } = enterWindow(last, this.#budget, time);
    const end = windowEnd(this.#budget, openedAt);
    return this.#reading(this.#capacity - used, end - time);
  }

  get #capacity(): number {
    return this.#budget.base + this.#budget.burst;
  }

  #timeAt(now: number): number {
    const { now: reachedAt, time } = this.#reached;
    return Math.max(this.#clock.now(), time + now - reachedAt);
  }

  #reading(available: number, resetMs: number): BudgetReading {
    const { unit, base, burst, windowMs } = this.#budget;
    const limit = shownAmount(unit, base + burst);
    const left = Math.min(base + burst, Math.max(0, available));
    const remaining = shownAmount(unit, left);
    return { unit, limit, remaining, resetMs, windowMs };
  }
}
