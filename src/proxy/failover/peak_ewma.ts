/** After so long without a newer one, a third of a latency is left. */
const DECAY_MS = 30_000;

/**
 * Moving average of latencies that follows a higher one at once and forgets it with time, so that a slow upstream is measured again
 * (peak EWMA, as in Finagle's `p2c-peak-ewma`).
 *
 * Times are monotonic, in milliseconds.
 */
export class PeakEwma {
  #valueMs = 0;
  #at = 0;
  #samples = 0;

  /** Number of latencies. */
  get samples(): number {
    return this.#samples;
  }

  /** Records a latency. */
  observe(latencyMs: number, now: number): void {
    const kept = Math.exp((this.#at - now) / DECAY_MS);
    this.#valueMs = this.#samples === 0 || latencyMs > this.#valueMs
      ? latencyMs
      : this.#valueMs * kept + latencyMs * (1 - kept);
    this.#at = now;
    this.#samples++;
  }

  /** Returns the average; 0 before the first latency. */
  valueAt(now: number): number {
    return this.#valueMs * Math.exp((this.#at - now) / DECAY_MS);
  }

  /** The average when the latest latency was recorded. */
  get usualMs(): number {
    return this.#valueMs;
  }
}
