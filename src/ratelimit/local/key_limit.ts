import type { Clock } from "../../base/clock.ts";
import { type BudgetDefinition, holds, shownAmount } from "../budget/budget.ts";
import {
  type BudgetWindow,
  CLOSED,
  readWindow,
  settle,
  unusedWindow,
} from "../budget/budget_window.ts";
import type { BudgetMemory, CountName } from "./budget_table.ts";
import {
  type LimitCounts,
  type LimitIdentity,
  type LimitReading,
  timeOf,
} from "./counter_store.ts";
import { type BudgetOwner, KeyBudget } from "./key_budget.ts";

/** Clock of the thread that uses a limit. */
export interface ThreadClock {
  readonly clock: Pick<Clock, "monotonic" | "now">;
  /** Milliseconds that the monotonic clock of the control thread is ahead of that of this thread. */
  readonly aheadMs: number;
}

/** Idle budgets dropped for each new key, so that the number of keys follows the traffic. */
const DROPPED_PER_KEY = 2;
/** Keys described before other threads get the lock again. */
const KEYS_PER_SLICE = 1000;
/** Patience of a description, in sleeps. */
const DESCRIBE_SLEEPS = 5;

/** Limit with a budget for each key. Its memory arrives with `bind`, before the first request. */
export class KeyLimit<Key> implements BudgetOwner<Key> {
  readonly scope: string;
  readonly name: string;
  readonly definition: BudgetDefinition;
  readonly capacity: number;
  readonly #isKeyed: boolean;
  readonly #thread: ThreadClock;
  /** The budget of a limit without keys; policies take it before the memory arrives. */
  readonly #only: KeyBudget<Key> | undefined;
  #bound: BudgetMemory<Key> & { readonly onlyKey: Key } | undefined;

  constructor(
    { scope, name, isKeyed }: Omit<LimitIdentity, "words">,
    definition: BudgetDefinition,
    thread: ThreadClock,
  ) {
    this.scope = scope;
    this.name = name;
    this.definition = definition;
    this.capacity = definition.base + definition.burst;
    this.#isKeyed = isKeyed;
    this.#thread = thread;
    this.#only = isKeyed ? undefined : new KeyBudget<Key>(this, undefined);
  }

  bind({ table, lock, order }: BudgetMemory<Key>): void {
    this.#bound = { table, lock, order, onlyKey: table.keyOf("") };
  }

  get order(): number {
    return this.#memory.order;
  }

  budget(key: string, _now?: number, weight = 1): KeyBudget<Key> {
    if (this.#only !== undefined) {
      return weight === 1 ? this.#only : new KeyBudget(this, undefined, weight);
    }
    return new KeyBudget(this, this.#memory.table.keyOf(key), weight);
  }

  lock(): void {
    this.#memory.lock.lock();
  }

  unlock(): void {
    this.#memory.lock.unlock();
  }

  time(now: number): number {
    const { aheadMs, clock } = this.#thread;
    return this.definition.calendar === undefined
      ? now + aheadMs
      : timeOf(this.definition, now, clock);
  }

  use(key: Key | undefined, time: number): BudgetWindow {
    const { table, onlyKey } = this.#memory;
    const known = table.use(key ?? onlyKey);
    if (known === undefined) return this.#add(key ?? onlyKey, time);
    settle(known, this, time);
    return known;
  }

  peek(key: Key | undefined, time: number): BudgetWindow {
    const { table, onlyKey } = this.#memory;
    const known = table.peek(key ?? onlyKey);
    if (known === undefined) return unusedWindow();
    settle(known, this, time);
    return known;
  }

  count(name: CountName, by: number): void {
    this.#memory.table.increase(name, by);
  }

  /** Returns the counts, without waiting for other threads. */
  counts(): LimitCounts {
    const { scope, name, definition } = this;
    const { unit } = definition;
    const { table } = this.#memory;
    return {
      scope,
      name,
      keys: table.size,
      evictedKeys: table.count("evictedKeys"),
      admitted: table.count("admitted"),
      refused: table.count("refused"),
      charged: shownAmount(unit, table.count("charged")),
      unit,
      ...(holds(definition) && { held: shownAmount(unit, table.held) }),
    };
  }

  /** Makes budgets unused, that of a key or all; returns how many. */
  reset(key: string | undefined): number {
    const { table, lock } = this.#memory;
    if (key !== undefined && !this.#isKeyed) return 0;
    if (!lock.tryLock(DESCRIBE_SLEEPS)) return 0;
    const windows = key === undefined
      ? Iterator.from(table.windows())
      : [table.peek(table.keyOf(key))];
    let count = 0;
    for (const window of windows) {
      if (window === undefined) continue;
      window.openedAt = CLOSED;
      window.used = 0;
      count++;
    }
    lock.unlock();
    return count;
  }

  /** Visits every key, letting other threads count in between. */
  describe(now: number): LimitReading {
    const time = this.time(now);
    const { table, lock } = this.#memory;
    const windows = table.windows();
    let least = readWindow(unusedWindow(), this, time);
    let overshoot = 0;
    let isOver = false;
    // A thread that died with the lock is detected by others later.
    while (!isOver && lock.tryLock(DESCRIBE_SLEEPS)) {
      for (let i = 0; i < KEYS_PER_SLICE; i++) {
        const { done, value: window } = windows.next();
        isOver = done === true;
        if (done) break;
        settle(window, this, time);
        const reading = readWindow(window, this, time);
        if (reading.remaining < least.remaining) least = reading;
        overshoot += Math.max(0, window.used - this.capacity);
      }
      lock.unlock();
    }
    return {
      ...least,
      ...this.counts(),
      overshoot: shownAmount(this.definition.unit, overshoot),
    };
  }

  get #memory() {
    if (this.#bound !== undefined) return this.#bound;
    throw new TypeError(`Limit "${this.name}" was used before it was ready`);
  }

  #add(key: Key, time: number): BudgetWindow {
    const { table } = this.#memory;
    for (let i = 0; i < DROPPED_PER_KEY; i++) {
      const { oldest } = table;
      if (oldest === undefined) break;
      settle(oldest, this, time);
      if (oldest.openedAt !== CLOSED || oldest.held > 0) break;
      table.deleteOldest();
    }
    if (table.size >= table.maxKeys) {
      table.deleteOldest();
      table.increase("evictedKeys", 1);
    }
    return table.add(key);
  }
}
