import type { TableLock } from "../local/budget_table.ts";

const FREE = 0;
/** Set in the word of the lock while a thread sleeps; the other bits are the number of the owner. */
const CONTENDED = 1 << 30;
/** Attempts before sleeping; the lock is taken for some hundred nanoseconds. */
const SPINS = 200;
/** A missed wake-up costs this much. */
const SLEEP_MS = 10;

/** Place of a count of acquisitions, after the word of the lock. */
const ACQUISITIONS = 1;

/** A thread that has a lock since some time. */
export interface LockOwner {
  readonly thread: number;
  /** Number of its acquisition. */
  readonly acquisition: number;
}

/**
 * Lock in two words of shared memory. Calls of one thread nest.
 *
 * A thread that ends while it has the lock keeps it, until `takeFrom` is called for it.
 */
export class ThreadLock implements TableLock {
  readonly #words: Int32Array;
  readonly #at: number;
  readonly #owner: number;
  #depth = 0;

  /** @param owner Number of this thread, from 1. */
  constructor(words: Int32Array, at: number, owner: number) {
    this.#words = words;
    this.#at = at;
    this.#owner = owner;
  }

  lock(): void {
    this.tryLock(Infinity);
  }

  tryLock(sleeps: number): boolean {
    if (this.#depth === 0) {
      if (!this.#swap(FREE, this.#owner) && !this.#wait(sleeps)) return false;
      this.#words[this.#at + ACQUISITIONS] = this.#acquisitions + 1;
    }
    this.#depth++;
    return true;
  }

  unlock(): void {
    if (--this.#depth > 0) return;
    const word = Atomics.exchange(this.#words, this.#at, FREE);
    if ((word & CONTENDED) !== 0) Atomics.notify(this.#words, this.#at, 1);
  }

  /** The thread that has the lock now; number 0 if none has it. */
  get owner(): LockOwner {
    const word = Atomics.load(this.#words, this.#at);
    return { thread: word & ~CONTENDED, acquisition: this.#acquisitions };
  }

  /** Takes the lock from a thread that has ended; returns whether that thread still had it. */
  takeFrom({ thread, acquisition }: LockOwner): boolean {
    const word = Atomics.load(this.#words, this.#at);
    if ((word & ~CONTENDED) !== thread || this.#acquisitions !== acquisition) {
      return false;
    }
    // `unlock` has to wake whoever waits.
    if (!this.#swap(word, this.#owner | CONTENDED)) return false;
    this.#depth++;
    return true;
  }

  get #acquisitions(): number {
    return this.#words[this.#at + ACQUISITIONS] ?? 0;
  }

  #wait(sleeps: number): boolean {
    for (let spin = 0; spin < SPINS; spin++) {
      if (this.#swap(FREE, this.#owner)) return true;
    }
    let slept = 0;
    // Others may sleep as well, which the word does not show any more once it was free.
    while (!this.#swap(FREE, this.#owner | CONTENDED)) {
      if (slept >= sleeps) return false;
      const word = Atomics.load(this.#words, this.#at);
      if (word === FREE || !this.#swap(word, word | CONTENDED)) continue;
      Atomics.wait(this.#words, this.#at, word | CONTENDED, SLEEP_MS);
      slept++;
    }
    return true;
  }

  #swap(expected: number, word: number): boolean {
    const at = this.#at;
    return Atomics.compareExchange(this.#words, at, expected, word) ===
      expected;
  }
}
