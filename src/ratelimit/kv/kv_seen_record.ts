import type { Clock } from "../../base/clock.ts";
import type { BudgetDefinition, BudgetReading } from "../budget.ts";
import { type BudgetRecord, enterWindow, isOver } from "./kv_record.ts";

/** A moment on both clocks: the monotonic one, and the one by which records go. */
export interface Moment {
  readonly now: number;
  readonly time: number;
}

/**
 * The record of a budget as this process saw it last. Before that, the window is closed and nothing is there.
 *
 * Records go by the clock of the wall, but never behind a window that was met: whoever opened it has a clock that is ahead, and that one
 * is followed. So windows only move forward, and none is ended before its length is over by the clock that is furthest ahead.
 */
export class SeenRecord {
  readonly #budget: BudgetDefinition;
  readonly #clock: Clock;
  #record: BudgetRecord | undefined;
  /** Monotonic time, as `#seenAt`. */
  #resetAt = -Infinity;
  #seenAt = -Infinity;
  #isKnown = false;
  /** Records never go back behind it. */
  #reached: Moment = { now: 0, time: -Infinity };

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

  /** Whether the store ever said what there is, be it nothing. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Whether its window has not ended. */
  isOpen(now: number = this.#clock.monotonic()): boolean {
    return now < this.#resetAt;
  }

  /** Whether the window that is open now was open at that monotonic time. */
  isWindowOf(time: number): boolean {
    return this.isOpen() && time >= this.#resetAt - this.#budget.windowMs;
  }

  /** How long ago that was. */
  ageMs(now: number): number {
    return now - this.#seenAt;
  }

  /** The moment at which a record is read, which is not before its window opened. */
  meet(record: BudgetRecord | undefined): Moment {
    const now = this.#clock.monotonic();
    const time = this.#timeAt(now);
    if (record === undefined || record.openedAt <= time) return { now, time };
    this.#reached = { now, time: record.openedAt };
    return this.#reached;
  }

  see(record: BudgetRecord | undefined, at: Moment): void {
    const { windowMs } = this.#budget;
    const { now, time } = at;
    this.#reached = at;
    this.#isKnown = true;
    this.#record = record;
    this.#seenAt = now;
    this.#resetAt = record === undefined || isOver(record, this.#budget, time)
      ? -Infinity
      : now + record.openedAt + windowMs - time;
  }

  /** The budget at that monotonic time, when this process has `own` units more (or less) than the record says. */
  read(own: number, now: number): BudgetReading {
    const { windowMs } = this.#budget;
    const available = this.available + own;
    const resetMs = this.#resetAt - now;
    if (resetMs > 0) return this.#reading(available, resetMs);
    const last = this.#record && { ...this.#record, available };
    const time = this.#timeAt(now);
    const next = enterWindow(last, this.#budget, time);
    return this.#reading(next.available, next.openedAt + windowMs - time);
  }

  #timeAt(now: number): number {
    const { now: reachedAt, time } = this.#reached;
    return Math.max(this.#clock.now(), time + now - reachedAt);
  }

  #reading(available: number, resetMs: number): BudgetReading {
    const { unit, base, burst, windowMs } = this.#budget;
    const limit = base + burst;
    const remaining = Math.min(limit, Math.max(0, available));
    return { unit, limit, remaining, resetMs, windowMs };
  }
}
