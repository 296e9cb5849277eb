import type { BudgetMemory } from "../local/budget_table.ts";
import type { KeyHash } from "./key_hash.ts";
import { KeyTable } from "./key_table.ts";
import { type LockOwner, ThreadLock } from "./thread_lock.ts";

/** Memory of a limit, for all threads. */
export interface LimitMemory {
  readonly buffer: SharedArrayBuffer;
  readonly maxKeys: number;
  /** Threads that may hold something of a budget; 0 for limits that hold nothing. */
  readonly holders: number;
  /** Seed of the hashes of keys. */
  readonly seed: Int32Array;
  /** Place in the order in which threads lock several limits. */
  readonly order: number;
}

/** Patience with threads that have the lock, in sleeps. */
const SLEEPS = 5;

/** Creates the memory of a limit without requests. */
export function createLimitMemory(
  { maxKeys, holders, order }: Pick<
    LimitMemory,
    "maxKeys" | "holders" | "order"
  >,
): LimitMemory {
  const { buffer } = new KeyTable(maxKeys, { holders });
  const seed = crypto.getRandomValues(new Int32Array(4));
  return { buffer, maxKeys, holders, seed, order };
}

/** Memory of a limit as one thread uses it. */
export class SharedMemory implements BudgetMemory<KeyHash> {
  readonly table: KeyTable;
  readonly lock: ThreadLock;
  readonly order: number;

  /**
   * @param thread Number of this thread, from 1.
   * @param holder Number of this thread among those that hold something.
   */
  constructor(memory: LimitMemory, thread: number, holder: number) {
    this.table = new KeyTable(memory.maxKeys, { ...memory, holder });
    this.lock = new ThreadLock(...this.table.lock, thread);
    this.order = memory.order;
  }

  /** Frees the limit from a thread that ended while it had the lock, and repairs what that thread left half done. */
  recoverFrom(owner: LockOwner): void {
    if (!this.lock.takeFrom(owner)) return;
    this.table.repair();
    this.lock.unlock();
  }

  /** Ends all that a thread holds, which has ended; returns false if the limit is locked for too long. */
  dropHolder(holder: number): boolean {
    if (!this.lock.tryLock(SLEEPS)) return false;
    this.table.dropHolder(holder);
    this.lock.unlock();
    return true;
  }
}
