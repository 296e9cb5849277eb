import type { Clock } from "../../base/clock.ts";
import type { BudgetDefinition } from "../budget.ts";
import {
  type LimitCounts,
  type LimitIdentity,
  limitKey,
  type LimitReading,
} from "../local/counter_store.ts";
import { MAX_KEYS } from "../local/local_limit.ts";
import {
  createLimitMemory,
  type LimitMemory,
  SharedLimit,
} from "./shared_limit.ts";

/** Request of a thread for the memory of a limit. */
export interface LimitRequest {
  readonly identity: LimitIdentity;
  readonly definition: BudgetDefinition;
}

/** Memory of the requested limits, and the monotonic time of the control thread. */
export interface LimitGrant {
  readonly memories: readonly LimitMemory[];
  readonly now: number;
}

/** A limit and the threads that use it. */
interface Entry {
  readonly limit: SharedLimit;
  readonly memory: LimitMemory;
  readonly users: Set<number>;
}

/** Number of the control thread. */
export const CONTROL = 1;
/** Time for which requests in progress may use limits that no configuration has any more. */
const RETIREMENT_MS = 600_000;
/** A thread that still holds the same lock after this time has ended; until then it may go on. */
const ENDED_AFTER_MS = 2000;
const MAX_RETIRED_BYTES = 64 * 1024 * 1024;

/** Limits of all threads, kept by the control thread, each while a configuration of some thread uses it. */
export class LimitRegistry {
  readonly #clock: Clock;
  readonly #maxKeys: number;
  readonly #entries = new Map<string, Entry>();
  /** Limits without configuration, by the end of their retirement, in that order. */
  readonly #retired = new Map<Entry, number>();
  readonly #timers = new Set<() => void>();
  #isClosed = false;
  #order = 0;
  #threads = CONTROL;

  constructor(clock: Clock, maxKeys = MAX_KEYS) {
    this.#clock = clock;
    this.#maxKeys = maxKeys;
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
      entry.users.add(thread);
      return entry.memory;
    });
    return { memories, now: this.#clock.monotonic() };
  }

  release(thread: number, { identity, definition }: LimitRequest): void {
    const key = limitKey(identity, definition);
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#drop(thread, key, entry);
  }

  /** Frees what a thread used that has ended, or was terminated a moment ago. */
  removeThread(thread: number): void {
    for (const [key, entry] of this.#entries) this.#drop(thread, key, entry);
    this.#setTimer(() => this.#recoverFrom(thread));
  }

  /** Stops timers, when all threads have ended. */
  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#timers) cancel();
  }

  counts(): readonly LimitCounts[] {
    return [...this.#entries.values()].map(({ limit }) => limit.counts());
  }

  /** Describes every limit in use; visits every key. */
  describe(): readonly LimitReading[] {
    const now = Math.floor(this.#clock.monotonic());
    return [...this.#entries.values()].map(({ limit }) => limit.describe(now));
  }

  /** Frees limits that a thread holds, and still holds after a while: a thread that goes on does not hold one for long. */
  #recoverFrom(thread: number): void {
    const used = [...this.#entries.values(), ...this.#retired.keys()];
    const held = used.flatMap(({ limit }) => {
      const { holder } = limit;
      return holder.thread === thread ? [{ limit, holder }] : [];
    });
    if (held.length === 0) return;
    this.#setTimer(() => {
      for (const { limit, holder } of held) limit.recoverFrom(holder);
    });
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
    const limit = new SharedLimit(identity, definition, {
      number: CONTROL,
      aheadMs: 0,
    });
    const memory = createLimitMemory({
      isKeyed: identity.isKeyed,
      maxKeys: this.#maxKeys,
      capacity: limit.capacity,
      order: ++this.#order,
    });
    limit.bind(memory);
    return { limit, memory, users: new Set() };
  }

  #drop(thread: number, key: string, entry: Entry): void {
    if (!entry.users.delete(thread) || entry.users.size > 0) return;
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
