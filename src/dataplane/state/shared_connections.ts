import { clientKey } from "../../base/wire/ip_address.ts";
import type { ClientRegister } from "../../http/server/contract/client_counts.ts";
import {
  type KeyHash,
  KeyHasher,
  SEED_WORDS,
} from "../../ratelimit/shared/key_hash.ts";
import { KeyTable } from "../../ratelimit/shared/key_table.ts";
import { ThreadLock } from "../../ratelimit/shared/thread_lock.ts";

/** Clients of all ports and workers; beyond it, connections of further clients count for their port only. */
const MAX_CLIENTS = 2 ** 18;

/** Sleeps of 10 ms after which the thread that has the lock has ended. */
const STUCK_SLEEPS = 200;

/** Memory in which workers count their connections. */
export interface ConnectionMemory {
  readonly buffer: SharedArrayBuffer;
  readonly seed: Int32Array;
  readonly workers: number;
}

/** A thread that uses the memory. */
export interface ConnectionThread {
  /** Number of the thread, never used again; 1 is the control thread. */
  readonly thread: number;
  /** Number of the worker, from 1; a replacement has that of the worker that ended. The control thread has 0. */
  readonly worker: number;
}

/** Creates the memory for a number of workers. */
export function createConnectionMemory(workers: number): ConnectionMemory {
  return {
    buffer: new KeyTable(MAX_CLIENTS).buffer,
    seed: crypto.getRandomValues(new Int32Array(SEED_WORDS)),
    workers,
  };
}

/**
 * Counts the connections of all workers by port and client, in shared memory. Each worker has records of its own, marked with its
 * number, so that those of a worker that ended can be removed.
 */
export class SharedConnections {
  readonly #table: KeyTable;
  readonly #lock: ThreadLock;
  readonly #hasher: KeyHasher;
  readonly #workers: number;
  readonly #worker: number;

  constructor(
    { buffer, seed, workers }: ConnectionMemory,
    { thread, worker }: ConnectionThread,
  ) {
    this.#table = new KeyTable(MAX_CLIENTS, { buffer });
    this.#lock = new ThreadLock(...this.#table.lock, thread);
    this.#hasher = new KeyHasher(seed);
    this.#workers = workers;
    this.#worker = worker;
  }

  /** Returns the register of a port. @param key See `Port.key`. */
  ofPort(key: string): ClientRegister {
    const all = this.#hasher.hash(key);
    const hashOf = (address: string) =>
      this.#hasher.hash(`${key} ${clientKey(address)}`);
    return {
      total: () => this.#sum(all),
      of: (address) => this.#sum(hashOf(address)),
      add: (address) => {
        const hash = hashOf(address);
        this.#change(all, 1);
        this.#change(hash, 1);
        return () => {
          this.#change(all, -1);
          this.#change(hash, -1);
        };
      },
    };
  }

  /** Forgets the connections of a worker that ended. */
  removeWorker(worker: number): void {
    const table = this.#table;
    const { owner } = this.#lock;
    if (!this.#lock.tryLock(STUCK_SLEEPS)) {
      // Only a thread that ended has the lock for so long.
      if (this.#lock.takeFrom(owner)) table.repair();
      else this.#lock.lock();
    }
    try {
      table.deleteAll(({ d }) => d === worker);
    } finally {
      this.#lock.unlock();
    }
  }

  #sum(hash: KeyHash): number {
    this.#lock.lock();
    try {
      let sum = 0;
      for (let worker = 1; worker <= this.#workers; worker++) {
        sum += this.#table.peek({ ...hash, d: worker })?.used ?? 0;
      }
      return sum;
    } finally {
      this.#lock.unlock();
    }
  }

  #change(hash: KeyHash, by: number): void {
    const own = { ...hash, d: this.#worker };
    this.#lock.lock();
    try {
      const table = this.#table;
      const known = table.peek(own);
      if (known === undefined && (by < 0 || table.size >= table.maxKeys)) {
        return;
      }
      // The number of connections takes the place of what is used of a budget.
      const window = known ?? table.add(own);
      window.used += by;
      if (window.used <= 0) table.delete(own);
    } finally {
      this.#lock.unlock();
    }
  }
}
