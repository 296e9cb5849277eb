import type { Clock } from "../../base/clock.ts";

/** Concurrent reads; a store completes that many well within the time that a request waits. */
const MAX_CONCURRENT = 64;
/** Waiting reads; more fail immediately. */
const MAX_WAITING = 4096;

/** A read that waits for its turn. */
interface Waiting {
  /** Monotonic time. */
  readonly since: number;
  readonly start: () => void;
  readonly fail: (error: Error) => void;
}

/**
 * Limits concurrent first reads of budgets. Known budgets do not wait for a turn, so a client that invents keys delays only new keys.
 */
export class FirstReadLimiter {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #waiting: Waiting[] = [];
  #running = 0;

  /** @param waitMs How long a read may wait for its turn. */
  constructor(clock: Clock, waitMs: number) {
    this.#clock = clock;
    this.#waitMs = waitMs;
  }

  /** Runs `read` when its turn comes. Rejects when that is too late, or when too many reads wait. */
  async run(read: () => Promise<void>): Promise<void> {
    if (this.#running >= MAX_CONCURRENT) await this.#turn();
    else this.#running++;
    try {
      await read();
    } finally {
      this.#running--;
      this.#startNext();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(tooMany());
    return new Promise((start, fail) => {
      this.#waiting.push({ since: this.#clock.monotonic(), start, fail });
    });
  }

  #startNext(): void {
    const now = this.#clock.monotonic();
    for (;;) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (now - next.since < this.#waitMs) {
        // Counted here, so that no other read takes its place before it starts.
        this.#running++;
        return next.start();
      }
      // Its request has timed out.
      next.fail(tooMany());
    }
  }
}

function tooMany(): Error {
  return new Error(
    "Cannot read a global budget: too many new keys are waiting",
  );
}
