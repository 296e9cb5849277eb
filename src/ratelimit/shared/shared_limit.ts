import type { Clock } from "../../base/clock.ts";
import { type BudgetDefinition, holds, shownAmount } from "../budget/budget.ts";
import {
  type BudgetWindow,
  CLOSED,
  readWindow,
  settle,
  unusedWindow,
} from "../budget/budget_window.ts";
import {
  type LimitCounts,
  type LimitIdentity,
  type LimitReading,
  timeOf,
} from "../local/counter_store.ts";
import { boundKey, DROPPED_PER_KEY } from "../local/local_limit.ts";
import { type KeyHash, KeyHasher } from "./key_hash.ts";
import { count, KeyTable, NONE } from "./key_table.ts";
import { SharedBudget, type SharedBudgetOwner } from "./shared_budget.ts";
import { type Holder, ThreadLock } from "./thread_lock.ts";

/** Memory of a limit, for all threads. */
export interface LimitMemory {
  readonly buffer: SharedArrayBuffer;
  readonly maxKeys: number;
  /** Threads that may hold something of a budget; 0 for limits that hold nothing. */
  readonly holders: number;
  /** Seed of the hashes of keys. */
  readonly seed: Int32Array;
  /** Place in the order in which threads hold several limits. */
  readonly order: number;
}

/** A thread that uses limits. */
export interface LimitThread {
  /** Number among the threads, from 1. */
  readonly number: number;
  readonly clock: Pick<Clock, "monotonic" | "now">;
  /** Milliseconds that the monotonic clock of the control thread is ahead of that of this thread. */
  readonly aheadMs: number;
}

/** Keys described before other threads get the lock again. */
const KEYS_PER_SLICE = 1000;
/** Patience of a description, in sleeps. */
const DESCRIBE_SLEEPS = 5;
/** Record of a limit without keys. */
const ONLY_RECORD = 1;
const noKey: KeyHash = { a: 0, b: 0, c: 0, d: 0 };

/** Creates the memory of a limit without requests. */
export function createLimitMemory(
  { isKeyed, maxKeys, holders, order }: {
    readonly isKeyed: boolean;
    readonly maxKeys: number;
    readonly holders: number;
    readonly order: number;
  },
): LimitMemory {
  const table = new KeyTable(isKeyed ? maxKeys : 1, { holders });
  if (!isKeyed) table.add(noKey);
  return {
    buffer: table.buffer,
    maxKeys: table.maxKeys,
    holders,
    seed: crypto.getRandomValues(new Int32Array(4)),
    order,
  };
}

/** Limit whose budgets threads share. Its memory arrives with `bind`, before the first request. */
export class SharedLimit implements SharedBudgetOwner {
  readonly scope: string;
  readonly name: string;
  readonly definition: BudgetDefinition;
  readonly capacity: number;
  readonly #thread: LimitThread;
  readonly #only: SharedBudget | undefined;
  #bound: {
    readonly table: KeyTable;
    readonly lock: ThreadLock;
    readonly hasher: KeyHasher;
    readonly order: number;
  } | undefined;

  constructor(
    { scope, name, isKeyed }: LimitIdentity,
    definition: BudgetDefinition,
    thread: LimitThread,
  ) {
    this.scope = scope;
    this.name = name;
    this.definition = definition;
    this.capacity = definition.base + definition.burst;
    this.#thread = thread;
    this.#only = isKeyed ? undefined : new SharedBudget(this, undefined);
  }

  /** @param holder Number of this thread among those that hold something. */
  bind(
    { buffer, maxKeys, holders, seed, order }: LimitMemory,
    holder: number,
  ): void {
    const table = new KeyTable(maxKeys, { buffer, holders, holder });
    const lock = new ThreadLock(...table.lock, this.#thread.number);
    this.#bound = { table, lock, hasher: new KeyHasher(seed), order };
  }

  get order(): number {
    return this.#memory.order;
  }

  budget(key: string): SharedBudget {
    return this.#only ??
      new SharedBudget(this, this.#memory.hasher.hash(boundKey(key)));
  }

  hold(): void {
    this.#memory.lock.hold();
  }

  release(): void {
    this.#memory.lock.release();
  }

  time(now: number): number {
    const { aheadMs, clock } = this.#thread;
    return this.definition.calendar === undefined
      ? now + aheadMs
      : timeOf(this.definition, now, clock);
  }

  use(hash: KeyHash | undefined, time: number): BudgetWindow {
    const { table } = this.#memory;
    if (hash === undefined) return this.#settled(ONLY_RECORD, time);
    const known = table.find(hash);
    if (known === NONE) return this.#add(hash, time);
    table.touch(known);
    return this.#settled(known, time);
  }

  peek(hash: KeyHash | undefined, time: number): BudgetWindow {
    const record = hash === undefined
      ? ONLY_RECORD
      : this.#memory.table.find(hash);
    return record === NONE ? unusedWindow() : this.#settled(record, time);
  }

  count(what: "admitted" | "refused" | "charged", by: number): void {
    this.#memory.table.increase(count[what], by);
  }

  /** Returns the counts, without waiting for other threads. */
  counts(): LimitCounts {
    const { scope, name } = this;
    const { table } = this.#memory;
    return {
      scope,
      name,
      keys: table.size,
      evictedKeys: table.count(count.evictedKeys),
      admitted: table.count(count.admitted),
      refused: table.count(count.refused),
      charged: shownAmount(this.definition.unit, table.count(count.charged)),
      unit: this.definition.unit,
      ...(holds(this.definition) && {
        held: shownAmount(this.definition.unit, table.held),
      }),
    };
  }

  /** Makes budgets unused, that of a key or all; returns how many. */
  reset(key: string | undefined): number {
    const { table, lock, hasher } = this.#memory;
    const only = key === undefined || this.#only !== undefined
      ? undefined
      : table.find(hasher.hash(boundKey(key)));
    if (only === NONE) return 0;
    let count = 0;
    if (!lock.tryHold(DESCRIBE_SLEEPS)) return count;
    for (let it = only ?? table.next(NONE); it !== NONE;) {
      const window = table.window(it);
      window.openedAt = CLOSED;
      window.used = 0;
      count++;
      it = only === undefined ? table.next(it) : NONE;
    }
    lock.release();
    return count;
  }

  /** Visits every key, letting other threads count in between. */
  describe(now: number): LimitReading {
    const time = this.time(now);
    const { table, lock } = this.#memory;
    let least = readWindow(unusedWindow(), this, time);
    let overshoot = 0;
    let held = 0;
    let record = table.next(NONE);
    // A thread that died with the lock is detected by others later.
    while (record !== NONE && lock.tryHold(DESCRIBE_SLEEPS)) {
      for (let i = 0; i < KEYS_PER_SLICE && record !== NONE; i++) {
        const window = this.#settled(record, time);
        const reading = readWindow(window, this, time);
        if (reading.remaining < least.remaining) least = reading;
        held += window.held;
        overshoot += Math.max(0, window.used - this.capacity);
        record = table.next(record);
      }
      lock.release();
    }
    const { unit } = this.definition;
    return {
      ...this.counts(),
      ...least,
      overshoot: shownAmount(unit, overshoot),
      ...(holds(this.definition) && { held: shownAmount(unit, held) }),
    };
  }

  /** Returns who holds the limit now. */
  get holder(): Holder {
    return this.#memory.lock.holder;
  }

  /** Frees the limit from a thread that ended while it held it, and repairs what that thread left half done. */
  recoverFrom(holder: Holder): void {
    const { table, lock } = this.#memory;
    if (!lock.takeFrom(holder)) return;
    table.repair();
    lock.release();
  }

  /** Ends all that a thread holds, which has ended; returns false if the limit is locked for too long. */
  dropHolder(holder: number): boolean {
    const { table, lock } = this.#memory;
    if (!lock.tryHold(DESCRIBE_SLEEPS)) return false;
    table.dropHolder(holder);
    lock.release();
    return true;
  }

  get #memory() {
    if (this.#bound !== undefined) return this.#bound;
    throw new TypeError(`Limit "${this.name}" was used before it was ready`);
  }

  #settled(record: number, time: number): BudgetWindow {
    const window = this.#memory.table.window(record);
    settle(window, this, time);
    return window;
  }

  #add(hash: KeyHash, time: number): BudgetWindow {
    const { table } = this.#memory;
    for (let i = 0; i < DROPPED_PER_KEY && table.oldest !== NONE; i++) {
      const { openedAt, held } = this.#settled(table.oldest, time);
      if (openedAt !== CLOSED || held > 0) break;
      table.delete(table.oldest);
    }
    if (table.size >= table.maxKeys) {
      table.delete(table.oldest);
      table.increase(count.evictedKeys, 1);
    }
    return table.window(table.add(hash));
  }
}
