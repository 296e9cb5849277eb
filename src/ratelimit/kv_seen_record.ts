import type { Clock } from "../base/clock.ts";
import type { BudgetDefinition, BudgetReading } from "./budget.ts";
import { type BudgetRecord, enterWindow, isOver } from "./kv_record.ts";

/** A moment on both clocks: the monotonic one, and that of the wall, by which records go. */
export interface Moment {
  readonly now: number;
  readonly wallNow: number;
}

/** The record of a budget as this process saw it last. Before that, the window is closed and nothing is there. */
export class SeenRecord {
  readonly #budget: BudgetDefinition;
  readonly #clock: Clock;
  #record: BudgetRecord | undefined;
  /** Monotonic time, as `#seenAt`. */
  #resetAt = -Infinity;
  #seenAt = -Infinity;

  constructor(budget: BudgetDefinition, clock: Clock) {
    this.#budget = budget;
    this.#clock = clock;
  }

  /** Names the window. */
  get openedAt(): number | undefined {
    return this.#record?.openedAt;
  }

  /** What was left for processes to take. */
  get available(): number {
    return this.#record?.available ?? 0;
  }

  /** Whether its window has not ended. */
  get isOpen(): boolean {
    return this.#clock.monotonic() < this.#resetAt;
  }

  /** Whether the window that is open now was open at that monotonic time. */
  isWindowOf(time: number): boolean {
    return this.isOpen && time >= this.#resetAt - this.#budget.windowMs;
  }

  /** How long ago that was. */
  get ageMs(): number {
    return this.#clock.monotonic() - this.#seenAt;
  }

  see(record: BudgetRecord | undefined, { now, wallNow }: Moment): void {
    const { windowMs } = this.#budget;
    this.#record = record;
    this.#seenAt = now;
    this.#resetAt =
      record === undefined || isOver(record, this.#budget, wallNow)
        ? -Infinity
        : now + record.openedAt + windowMs - wallNow;
  }

  /** The budget now, when this process has `own` units more (or less) than the record says. */
  read(own: number): BudgetReading {
    const { windowMs } = this.#budget;
    const available = this.available + own;
    const resetMs = this.#resetAt - this.#clock.monotonic();
    if (resetMs > 0) return this.#reading(available, resetMs);
    const last = this.#record && { ...this.#record, available };
    const wallNow = this.#clock.now();
    const next = enterWindow(last, this.#budget, wallNow);
    return this.#reading(next.available, next.openedAt + windowMs - wallNow);
  }

  #reading(available: number, resetMs: number): BudgetReading {
    const { unit, base, burst, windowMs } = this.#budget;
    const limit = base + burst;
    const remaining = Math.min(limit, Math.max(0, available));
    return { unit, limit, remaining, resetMs, windowMs };
  }
}
