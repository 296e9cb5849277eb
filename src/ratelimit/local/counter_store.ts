import type { BudgetDefinition, BudgetReading } from "../budget.ts";

/** By which people know a limit. */
export interface LimitPlace {
  /** What the limit is attached to, such as `HTTPRoute/default/llm`. */
  readonly scope: string;
  /** Its whole definition in words, some of them hidden, such as `100 requests per minute by jwt.sub`; unique within the scope. */
  readonly name: string;
}

/** What identifies a limit. Equal ones share their budgets, over configurations too. */
export interface LimitIdentity extends LimitPlace {
  /** The definition in words in which nothing is hidden; never shown. */
  readonly words: string;
}

/**
 * One budget: that of a limit, or of one key of it. Every `now` is a whole number of monotonic milliseconds.
 *
 * A request is counted by `allows` of all its budgets, then `take` of all of them, with nothing awaited in between.
 */
export interface Budget {
  readonly limit: Limit;
  /** Whether something is left. */
  allows(now: number): boolean;
  /** Counts a request: it takes 1 of a budget of requests and opens a budget of tokens. */
  take(now: number): void;
  /** Counts a request that was turned away. */
  refuse(): void;
  /**
   * Charges a budget of tokens, in the window of `now`; a budget of requests ignores it.
   * @throws {RangeError} When it is not a whole number, 0 or more.
   */
  debit(tokens: number, now: number): void;
  /** Gives back what `take` took at `takenAt`, unless its window is over. */
  refund(takenAt: number, now: number): void;
  read(now: number): BudgetReading;
  /** Until a request may pass; 0 when it may. Longer than the window while carried tokens are worked off. */
  waitMs(now: number): number;
}

/** One configured limit and its budgets. */
export interface Limit extends LimitPlace {
  readonly definition: BudgetDefinition;
  /** The budget of a key; a limit without keys has that of `""`. */
  budget(key: string, now: number): Budget;
}

/** What a limit has done so far, counted as it happens: read whenever somebody asks. */
export interface LimitCounts extends LimitPlace {
  /** Keys that have a budget now. */
  readonly keys: number;
  /** Keys that were forgotten to make room while their budget was in use. */
  readonly evictedKeys: number;
  /** Since the limit came into force, as is what follows. */
  readonly admitted: number;
  readonly refused: number;
  readonly tokens: number;
}

/** A limit as `/config_dump` shows it. Of several keys, the one with the least left. */
export interface LimitReading extends LimitCounts, BudgetReading {
  /** Tokens beyond the budget, over all keys. */
  readonly overshoot: number;
}

/** What a configuration uses of the store, until it gives it back. */
export interface CounterLease {
  limit(identity: LimitIdentity, definition: BudgetDefinition): Limit;
  /** What nobody else uses is forgotten; requests under way may go on using it. */
  release(): void;
}

/**
 * Keeps the budgets of this process; they outlive the configurations that define them.
 *
 * A seam: processes that share memory could share a store.
 */
export interface CounterStore {
  lease(): CounterLease;
  /** Every limit in use. */
  counts(): Iterable<LimitCounts>;
  /** The same, with what is left; looks at every key. */
  describe(): readonly LimitReading[];
}
