/** Selects a bounded number of requests per second; bursts of two seconds pass whole. */
export class Sampler {
  readonly #perSecond: number;
  readonly #burst: number;
  #left: number;
  #lastMs = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#burst = 2 * perSecond;
    this.#left = this.#burst;
  }

  /** Reports whether to record a request. @param nowMs Its end. */
  takes(nowMs: number): boolean {
    const seconds = Math.max(0, nowMs - this.#lastMs) / 1000;
    this.#lastMs = nowMs;
    this.#left = Math.min(this.#burst, this.#left + seconds * this.#perSecond);
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
