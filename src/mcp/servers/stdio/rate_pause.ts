import { type Clock, delay } from "../../../base/clock.ts";

const SECOND_MS = 1000;

/** Slows a reader down to a number of items and bytes per second; the writer then waits for its pipe. */
export class RatePause {
  readonly #clock: Clock;
  readonly #maxItems: number;
  readonly #maxBytes: number;
  #began = 0;
  #items = 0;
  #bytes = 0;

  constructor(clock: Clock, maxItems: number, maxBytes: number) {
    this.#clock = clock;
    this.#maxItems = maxItems;
    this.#maxBytes = maxBytes;
  }

  /** Counts an item; resolves when the next one may be read. */
  async count(bytes: number): Promise<void> {
    const now = this.#clock.monotonic();
    if (now - this.#began >= SECOND_MS) {
      this.#began = now;
      this.#items = this.#bytes = 0;
    }
    this.#items++;
    this.#bytes += bytes;
    if (this.#items < this.#maxItems && this.#bytes < this.#maxBytes) return;
    const restMs = this.#began + SECOND_MS - now;
    await delay(this.#clock, restMs);
  }
}
