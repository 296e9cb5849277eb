import type { Clock } from "../../base/clock.ts";
import { type BudgetDefinition, holds } from "../budget/budget.ts";
import { MAX_KEYS } from "../local/budget_table.ts";
import {
  type LimitCounts,
  type LimitIdentity,
  limitKey,
  type LimitReading,
  type LimitSelection,
} from "../local/counter_store.ts";
import { KeyLimit, type ThreadClock } from "../local/key_limit.ts";
import { resetLimits } from "../local/local_counter_store.ts";
import type { KeyHash } from "./key_hash.ts";
import {
  createLimitMemory,
  type LimitMemory,
  SharedMemory,
} from "./limit_memory.ts";

/** Request of a thread for the memory of a limit. */
export interface LimitRequest {
  readonly identity: LimitIdentity;
  readonly definition: BudgetDefinition;
}

/** Memory of the requested limits, and the monotonic time of the control thread. */
export interface LimitGrant {
  readonly memories: readonly LimitMemory[];
  /** Number of the thread among those that hold something of a budget. */
  readonly holder: number;
  readonly now: number;
}

/** Use of a limit by a configuration of a thread. */
interface LimitUser {
  readonly thread: number;
  readonly limit: KeyLimit<KeyHash>;
}

/** Memory of a limit and its users, which may have different numbers. */
interface Entry {
  readonly memory: LimitMemory;
  /** The memory as this thread uses it. */
  readonly own: SharedMemory;
  /** By thread and request, the oldest first. */
  readonly users: Map<string, LimitUser>;
}

/** Number of the control thread. */
export const CONTROL = 1;
/** Time for which requests in progress may use limits that no configuration has any more. */
const RETIREMENT_MS = 600_000;
/** A thread that still has the same lock after this time has ended; until then it may go on. */
const ENDED_AFTER_MS = 2000;
const MAX_RETIRED_BYTES = 64 * 1024 * 1024;

/** Limits of all threads, kept by the control thread, each while a configuration of some thread uses it. */
export class LimitRegistry {
  readonly #clock: Clock;
  readonly #time: ThreadClock;
  readonly #maxKeys: number;
  readonly #entries = new Map<string, Entry>();
  /** Limits without configuration, by the end of their retirement, in that order. */
  readonly #retired = new Map<Entry, number>();
  readonly #timers = new Set<() => void>();
  readonly #holders: ThreadHolders;
  #isClosed = false;
  #order = 0;
  #threads = CONTROL;

  constructor(
    clock: Clock,
    { maxKeys = MAX_KEYS, maxThreads = 8 }: {
      readonly maxKeys?: number;
      /** Threads at the same time, including those that have ended a moment ago. */
      readonly maxThreads?: number;
    } = {},
  ) {
    this.#clock = clock;
    this.#time = { clock, aheadMs: 0 };
    this.#maxKeys = maxKeys;
    this.#holders = new ThreadHolders(maxThreads);
  }

  /** Returns the number of a new thread. */
  addThread(): number {
    return ++this.#threads;
  }

  /** Returns the memory of limits, which the thread uses until it releases them or ends. */
  acquire(thread: number, requests: readonly LimitRequest[]): LimitGrant {
    const memories = requests.map((request) => {
      const key = limitKey(request.identity, request.definition);
      const entry = this.#entries.get(key) ?? this.#create(request);
      this.#entries.set(key, entry);
      const { identity, definition } = request;
      const limit = new KeyLimit<KeyHash>(identity, definition, this.#time);
      limit.bind(entry.own);
      entry.users.set(userKey(thread, request), { thread, limit });
      return entry.memory;
    });
    const isHolding = memories.some(({ holders }) => holders > 0);
    const holder = isHolding ? this.#holders.use(thread) : 0;
    return { memories, holder, now: this.#clock.monotonic() };
  }

  release(thread: number, request: LimitRequest): void {
    const key = limitKey(request.identity, request.definition);
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#drop([userKey(thread, request)], key, entry);
  }

  /** Frees what a thread used that has ended, or was terminated a moment ago. */
  removeThread(thread: number): void {
    for (const [key, entry] of this.#entries) {
      const users = [...entry.users].filter(([, user]) =>
        user.thread === thread
      );
      this.#drop(users.map(([user]) => user), key, entry);
    }
    this.#setTimer(() => this.#recoverFrom(thread));
  }

  /** Stops timers, when all threads have ended. */
  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#timers) cancel();
  }

  counts(): readonly LimitCounts[] {
    return this.#inForce().map((limit) => limit.counts());
  }

  /** Describes every limit in use; visits every key. */
  describe(): readonly LimitReading[] {
    const now = Math.floor(this.#clock.monotonic());
    return this.#inForce().map((limit) => limit.describe(now));
  }

  /** Makes budgets unused; returns how many. */
  reset(selection: LimitSelection): number {
    return resetLimits(this.#inForce(), selection);
  }

  /** Returns the limits of the oldest users. */
  #inForce(): KeyLimit<KeyHash>[] {
    return [...this.#entries.values()].flatMap(({ users }) => {
      const [oldest] = users.values();
      return oldest?.limit ?? [];
    });
  }

  /**
   * Frees limits that a thread has locked, and still has after a while: a thread that goes on does not lock one for long. Then ends
   * what the thread held for its requests.
   */
  #recoverFrom(thread: number): void {
    const locked = this.#used.flatMap(({ own }) => {
      const { owner } = own.lock;
      return owner.thread === thread ? [{ own, owner }] : [];
    });
    this.#setTimer(() => {
      for (const { own, owner } of locked) own.recoverFrom(owner);
      this.#dropHolder(thread);
    });
  }

  #dropHolder(thread: number): void {
    const holder = this.#holders.find(thread);
    if (holder === undefined) return;
    const dropped = this.#used.map(({ own, memory }) =>
      memory.holders === 0 || own.dropHolder(holder)
    );
    if (dropped.every((each) => each)) this.#holders.end(thread);
    else this.#setTimer(() => this.#dropHolder(thread));
  }

  get #used(): Entry[] {
    return [...this.#entries.values(), ...this.#retired.keys()];
  }

  #setTimer(callback: () => void): void {
    if (this.#isClosed) return;
    const cancel = this.#clock.setTimer(() => {
      this.#timers.delete(cancel);
      callback();
    }, ENDED_AFTER_MS);
    this.#timers.add(cancel);
  }

  #create({ identity, definition }: LimitRequest): Entry {
    const memory = createLimitMemory({
      maxKeys: identity.isKeyed ? this.#maxKeys : 1,
      holders: holds(definition) ? this.#holders.max : 0,
      order: ++this.#order,
    });
    const own = new SharedMemory(memory, CONTROL, 0);
    return { memory, own, users: new Map() };
  }

  #drop(users: readonly string[], key: string, entry: Entry): void {
    for (const user of users) entry.users.delete(user);
    if (entry.users.size > 0) return;
    this.#entries.delete(key);
    // A thread that dies with such a limit must not leave it locked.
    this.#retired.set(entry, this.#clock.monotonic() + RETIREMENT_MS);
    this.#forgetRetired();
  }

  #forgetRetired(): void {
    const now = this.#clock.monotonic();
    let bytes = 0;
    for (const { memory } of this.#retired.keys()) {
      bytes += memory.buffer.byteLength;
    }
    for (const [entry, until] of this.#retired) {
      if (now < until && bytes <= MAX_RETIRED_BYTES) return;
      this.#retired.delete(entry);
      bytes -= entry.memory.buffer.byteLength;
    }
  }
}

/** Numbers of the threads among those that hold something of a budget; 0 is the control thread, which never does. */
class ThreadHolders {
  readonly max: number;
  readonly #byThread = new Map<number, number>();

  constructor(maxThreads: number) {
    this.max = maxThreads + 1;
  }

  find(thread: number): number | undefined {
    return this.#byThread.get(thread);
  }

  /** @throws {RangeError} When too many threads have ended within seconds; the caller tries again later. */
  use(thread: number): number {
    return this.#byThread.getOrInsertComputed(thread, () => {
      const used = new Set(this.#byThread.values());
      for (let holder = 1; holder < this.max; holder++) {
        if (!used.has(holder)) return holder;
      }
      throw new RangeError("Cannot count for another thread yet");
    });
  }

  end(thread: number): void {
    this.#byThread.delete(thread);
  }
}

function userKey(thread: number, request: LimitRequest): string {
  return `${thread} ${JSON.stringify(request)}`;
}
