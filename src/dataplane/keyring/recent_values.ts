/**
 * Values by strings, of which at least half of a number are kept: those that were used last. Forgets many at once, because a map from
 * which the first entry is deleted again and again takes long to find the next one.
 */
export class RecentValues<T> {
  readonly #half: number;
  #recent = new Map<string, T>();
  #older = new Map<string, T>();

  /** @param max Maximum number of values. */
  constructor(max: number) {
    this.#half = Math.ceil(max / 2);
  }

  get(key: string): T | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: string, value: T): void {
    if (this.#recent.size >= this.#half) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, value);
  }

  clear(): void {
    this.#recent.clear();
    this.#older.clear();
  }
}
