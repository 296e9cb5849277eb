import { type Clock, recentTime } from "../../../base/clock.ts";

/** The pace that a client must keep up. */
export interface PaceLimits {
  /** Milliseconds that the gateway may wait, beyond what bytes make up for; `Infinity` for no limit. */
  readonly creditMs: number;
  /** 0 for no minimum: then each wait has the whole credit. */
  readonly bytesPerSecond: number;
}

/**
 * Limits how long a client keeps the gateway waiting, for bytes of a request or for room for those of a response.
 *
 * Waiting uses the credit up and bytes restore it, at the minimum rate, but never beyond its start: a fast beginning does not pay
 * for a slow end. Only waiting counts, not the time in which the backend has or takes no bytes.
 */
export class TransferPace {
  readonly #clock: Clock;
  readonly #limits: () => PaceLimits;
  /** Milliseconds of waiting that are used up. */
  #usedMs = 0;
  /** Monotonic; `undefined` while nobody waits. */
  #waitingSince: number | undefined;

  /** @param limits Returns the limits now; a reload may change them. */
  constructor(clock: Clock, limits: () => PaceLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Begins a wait; returns the monotonic time, exact to 100 ms, at which it has taken too long. */
  wait(): number {
    const now = recentTime(this.#clock);
    this.#waitingSince = now;
    return now + this.#limits().creditMs - this.#usedMs;
  }

  /** Ends the wait with `count` bytes. */
  moved(count: number): void {
    if (this.#waitingSince === undefined) return;
    const waitedMs = recentTime(this.#clock) - this.#waitingSince;
    this.#waitingSince = undefined;
    if (waitedMs === 0 && this.#usedMs === 0) return;
    const { bytesPerSecond } = this.#limits();
    if (bytesPerSecond === 0) return;
    const restoredMs = count * 1000 / bytesPerSecond;
    this.#usedMs = Math.max(0, this.#usedMs + waitedMs - restoredMs);
  }

  /** Describes a wait that took too long, such as `slower than 240 bytes per second`. */
  get problem(): string {
    return this.#usedMs === 0
      ? "no data in time"
      : `slower than ${this.#limits().bytesPerSecond} bytes per second`;
  }
}
