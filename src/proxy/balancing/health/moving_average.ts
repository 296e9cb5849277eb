/** An average in which each value weighs as much as the others at first, and the newest one at least a tenth. */
export class MovingAverage {
  #count = 0;
  #value = 0;

  /** Number of values since the last `clear`. */
  get count(): number {
    return this.#count;
  }

  /** The average; `undefined` without values. */
  get value(): number | undefined {
    return this.#count === 0 ? undefined : this.#value;
  }

  add(value: number): void {
    this.#count++;
    const weight = Math.max(NEWEST_WEIGHT, 1 / this.#count);
    this.#value += (value - this.#value) * weight;
  }

  clear(): void {
    this.#count = 0;
    this.#value = 0;
  }
}

const NEWEST_WEIGHT = 0.1;
