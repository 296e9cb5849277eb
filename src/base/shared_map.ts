/** Values under keys, each for as long as somebody uses it. */
export class SharedMap<T> {
  readonly #entries = new Map<string, { readonly value: T; users: number }>();

  /** The value of the key, made when nobody uses it yet; `release` is called once by whoever acquired it. */
  acquire(
    key: string,
    create: () => T,
  ): { readonly value: T; readonly release: () => void } {
    const entry = this.#entries.get(key) ?? { value: create(), users: 0 };
    entry.users++;
    this.#entries.set(key, entry);
    const release = () => {
      if (--entry.users === 0) this.#entries.delete(key);
    };
    return { value: entry.value, release };
  }

  *values(): Iterable<T> {
    for (const { value } of this.#entries.values()) yield value;
  }
}
