import type { Clock } from "../../base/clock.ts";

/** Retries per request, on average. */
const PER_REQUEST = 0.5;
/** Retries per second that a backend with few requests always has. */
const PER_SECOND = 1;
/** Retries that can be saved up. */
const MAX = 100;
const INITIAL = 10;

/** Bounds the retries of a backend, which could keep it from recovering when all of its requests fail. */
export class RetryBudget {
  readonly #clock: Clock;
  #left = INITIAL;
  #at: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.monotonic();
  }

  /** Counts a request. */
  earn(): void {
    this.#left = Math.min(MAX, this.#left + PER_REQUEST);
  }

  /** Takes a retry; returns `false` when none is left. */
  take(): boolean {
    const now = this.#clock.monotonic();
    const earned = (now - this.#at) / 1000 * PER_SECOND;
    this.#at = now;
    this.#left = Math.min(MAX, this.#left + earned);
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
