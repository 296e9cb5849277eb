import type { Clock } from "../../base/clock.ts";
import type { BudgetDefinition, BudgetReading, Use } from "../budget/budget.ts";

/** Name of a limit for people. */
export interface LimitPlace {
  /** Target of the limit, such as `HTTPRoute/default/llm`. */
  readonly scope: string;
  /** Definition in words, without secrets, such as `100 requests per minute by jwt.sub`; unique within the scope. */
  readonly name: string;
}

/** Identity of a limit. Equal limits share their budgets, also across configurations and when their numbers differ. */
export interface LimitIdentity extends LimitPlace {
  /** Definition in words without its numbers and with secrets, unique within the scope; never shown. */
  readonly words: string;
  /** Has a budget for each of several keys. */
  readonly isKeyed: boolean;
}

/**
 * Budget of a limit, or of one of its keys. Every `now` is a whole number of monotonic milliseconds. `takeAll` counts a request against
 * several.
 */
export interface Budget {
  readonly limit: Limit;
  /** See `Limit.budget`. */
  readonly weight: number;
  /** Reports whether what the request is expected to use is left, if the budget reserves that, or else anything. */
  allows(now: number, expected?: Use): boolean;
  /** Counts a request: takes its weight from a request budget, opens the window of a token budget; holds what `heldBy` says. */
  take(now: number, expected?: Use): void;
  /** Holds what an admitted request is expected to use further, see `heldBy`. */
  hold(expected: Use, now: number): void;
  /** Ends what `take` or `hold` held. */
  release(expected: Use, now: number): void;
  /** Counts a rejected request. */
  reject(): void;
  /**
   * Charges what a request used, in the window of `now`; a request budget ignores it.
   * @throws {RangeError} When the amount is not a whole number of 0 or more.
   */
  debit(use: Use, now: number): void;
  /** Refunds a `take` at `takenAt`, unless its window is over; `release` returns what it held. */
  refund(takenAt: number, now: number): void;
  read(now: number): BudgetReading;
  /** Time until a request may pass; 0 if it may now. Longer than the window while carried tokens are paid off. */
  waitMs(now: number, expected?: Use): number;
}

/** A configured limit and its budgets. */
export interface Limit extends LimitPlace {
  readonly definition: BudgetDefinition;
  /** Place in the order in which threads lock several limits. */
  readonly order: number;
  /**
   * Returns the budget of a key; `""` for a limit without keys.
   * @param weight Requests that the request counts as, in a budget of requests; 1 by default.
   */
  budget(key: string, now: number, weight?: number): Budget;
  /** Keeps other threads away from all budgets until `unlock`, within this turn of the event loop; calls nest. */
  lock(): void;
  unlock(): void;
}

/** Counts of a limit. */
export interface LimitCounts extends LimitPlace {
  /** Keys with a budget now. */
  readonly keys: number;
  /** Keys evicted while their budget was in use. */
  readonly evictedKeys: number;
  /** Since the limit came into force; so are the following counts. */
  readonly admitted: number;
  readonly refused: number;
  /** Tokens or US dollars charged. */
  readonly charged: number;
  /** Held for requests in progress; `undefined` for limits that hold nothing. */
  readonly held?: number | undefined;
  readonly unit: BudgetDefinition["unit"];
}

/** Returns what equal limits have in common: all but `base` and `burst`, so that a changed number keeps what was used. */
export function limitKey(
  { scope, words }: LimitIdentity,
  { unit, windowMs, calendar, overshoot, reserves }: BudgetDefinition,
): string {
  const window = [unit, windowMs, calendar, overshoot, reserves];
  return JSON.stringify([scope, words, ...window]);
}

/** Returns the time at which a limit counts: monotonic, or of the wall clock for windows of the calendar. */
export function timeOf(
  { calendar }: BudgetDefinition,
  now: number,
  clock: Pick<Clock, "monotonic" | "now">,
): number {
  return calendar === undefined
    ? now
    : now + Math.floor(clock.now() - clock.monotonic());
}

/** A limit as `/config_dump` shows it: of several keys, the one with the least left. */
export interface LimitReading extends LimitCounts, BudgetReading {
  /** Tokens beyond the budget, over all keys. */
  readonly overshoot: number;
}

/** Limits used by a configuration until it releases them. */
export interface CounterLease {
  limit(identity: LimitIdentity, definition: BudgetDefinition): Limit;
  /** Resolves when all limits can count; only then their budgets may be used. */
  ready(): Promise<void>;
  /** Drops limits without users; requests in progress can still use them. */
  release(): void;
}

/** Budgets of this process; they outlive the configurations that define them. */
export interface CounterStore {
  lease(): CounterLease;
  /** Returns the counts of every limit in use. */
  counts(): Iterable<LimitCounts>;
  /** Describes every limit in use; visits every key. */
  describe(): readonly LimitReading[];
  /** Makes budgets unused; returns how many. */
  reset(selection: LimitSelection): number;
}

/** Selects budgets; what is not set selects all. */
export interface LimitSelection {
  /** Name of a limit, such as `100 requests per minute, by jwt.sub`. */
  readonly entry?: string | undefined;
  /** Key of a local limit, or value of an entry of a global one. */
  readonly key?: string | undefined;
}
