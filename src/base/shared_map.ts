/** Reference-counted values by key. */
export class SharedMap<T> {
  readonly #entries = new Map<string, { readonly value: T; users: number }>();

  /** Returns the value of the key, created on first use; every caller calls `release` once. @param drop Called without users. */
  acquire(
    key: string,
    create: () => T,
    drop?: (value: T) => void,
  ): { readonly value: T; readonly release: () => void } {
    const entry = this.#entries.get(key) ?? { value: create(), users: 0 };
    entry.users++;
    this.#entries.set(key, entry);
    const release = () => {
      if (--entry.users > 0) return;
      this.#entries.delete(key);
      drop?.(entry.value);
    };
    return { value: entry.value, release };
  }

  *values(): Iterable<T> {
    for (const { value } of this.#entries.values()) yield value;
  }
}
