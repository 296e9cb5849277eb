import type { Clock } from "../../base/clock.ts";

/** Looks under way at once; a store answers that many well within the time that a request waits. */
const MAX_UNDER_WAY = 64;
/** Looks that wait; more fail at once. */
const MAX_WAITING = 4096;

/** A look that waits for its turn. */
interface Waiting {
  /** Monotonic time. */
  readonly since: number;
  readonly start: () => void;
  readonly fail: (error: Error) => void;
}

/**
 * Lets budgets that nobody has asked about yet come to the store a few at a time. Known ones need not wait for a turn, so whoever invents
 * keys keeps only new keys waiting.
 */
export class FirstLooks {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #waiting: Waiting[] = [];
  #underWay = 0;

  /** @param waitMs How long a look is worth waiting for its turn. */
  constructor(clock: Clock, waitMs: number) {
    this.#clock = clock;
    this.#waitMs = waitMs;
  }

  /** Looks when it is its turn. Rejects when that is too late, or when too many wait. */
  async run(look: () => Promise<void>): Promise<void> {
    if (this.#underWay >= MAX_UNDER_WAY) await this.#turn();
    else this.#underWay++;
    try {
      await look();
    } finally {
      this.#underWay--;
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
        // Here, so that nobody takes its place before it starts.
        this.#underWay++;
        return next.start();
      }
      // The request that asked for it has got its answer.
      next.fail(tooMany());
    }
  }
}

function tooMany(): Error {
  return new Error("Cannot ask for a global budget: too many keys are new");
}
