import { type Clock, inTime } from "../../../base/clock.ts";

/** Decoding what was received takes milliseconds; a report must not wait for a busy processor either. */
const MAX_WAIT_MS = 1000;

/** Responses that clients have received and whose tokens are still being counted, as those that have to be decompressed. */
export class UnsettledCounts {
  readonly #clock: Clock;
  readonly #counts = new Set<Promise<void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(counted: Promise<void>): void {
    this.#counts.add(counted);
    void counted.finally(() => this.#counts.delete(counted));
  }

  /** Resolves when the responses until now are counted, after a second at the latest. */
  async settled(): Promise<void> {
    if (this.#counts.size === 0) return;
    await inTime(this.#clock, MAX_WAIT_MS, Promise.all(this.#counts));
  }
}
