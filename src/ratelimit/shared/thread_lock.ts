const FREE = 0;
/** Set in the word of the lock while a thread sleeps; the other bits are the number of the owner. */
const CONTENDED = 1 << 30;
/** Attempts before sleeping; the lock is held for some hundred nanoseconds. */
const SPINS = 200;
/** A missed wake-up costs this much. */
const SLEEP_MS = 10;

/** Place of a count of holds, after the word of the lock. */
const HOLDS = 1;

/** A thread that holds a lock since some time. */
export interface Holder {
  readonly thread: number;
  /** Number of the hold. */
  readonly hold: number;
}

/**
 * Lock in two words of shared memory. Calls of one thread nest.
 *
 * A thread that ends while it holds the lock keeps it, until `takeFrom` is called for it.
 */
export class ThreadLock {
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

  hold(): void {
    this.tryHold(Infinity);
  }

  /** Gives up after some sleeps of at most 10 ms; then returns false. */
  tryHold(sleeps: number): boolean {
    if (this.#depth === 0) {
      if (!this.#swap(FREE, this.#owner) && !this.#wait(sleeps)) return false;
      this.#words[this.#at + HOLDS] = this.#holds + 1;
    }
    this.#depth++;
    return true;
  }

  release(): void {
    if (--this.#depth > 0) return;
    const word = Atomics.exchange(this.#words, this.#at, FREE);
    if ((word & CONTENDED) !== 0) Atomics.notify(this.#words, this.#at, 1);
  }

  /** Returns who holds the lock now. */
  get holder(): Holder {
    const word = Atomics.load(this.#words, this.#at);
    return { thread: word & ~CONTENDED, hold: this.#holds };
  }

  /** Holds the lock in place of a thread that has ended; returns whether that thread still held it. */
  takeFrom({ thread, hold }: Holder): boolean {
    const word = Atomics.load(this.#words, this.#at);
    if ((word & ~CONTENDED) !== thread || this.#holds !== hold) return false;
    // The release has to wake whoever waits.
    if (!this.#swap(word, this.#owner | CONTENDED)) return false;
    this.#depth++;
    return true;
  }

  get #holds(): number {
    return this.#words[this.#at + HOLDS] ?? 0;
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
