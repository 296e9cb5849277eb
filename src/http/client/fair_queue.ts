/** Waiting requests of several owners, which take turns; those of one owner are served in order. */
export class FairQueue<T extends { readonly owner: string }> {
  /** The owner whose turn it is comes first. */
  readonly #byOwner = new Map<string, Set<T>>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Number of waiting requests of an owner. */
  count(owner: string): number {
    return this.#byOwner.get(owner)?.size ?? 0;
  }

  add(item: T): void {
    this.#byOwner.getOrInsertComputed(item.owner, () => new Set()).add(item);
    this.#length++;
  }

  delete(item: T): void {
    const own = this.#byOwner.get(item.owner);
    if (own?.delete(item) !== true) return;
    this.#length--;
    if (own.size === 0) this.#byOwner.delete(item.owner);
  }

  /** Returns the next request of the first owner for whom `mayTake`, and lets that owner wait for its next turn; does not remove it. */
  next(mayTake: (owner: string) => boolean): T | undefined {
    for (const [owner, own] of this.#byOwner) {
      if (!mayTake(owner)) continue;
      this.#byOwner.delete(owner);
      this.#byOwner.set(owner, own);
      const [first] = own;
      return first;
    }
    return undefined;
  }

  /** Lists the requests. */
  values(): T[] {
    return [...this.#byOwner.values()].flatMap((own) => [...own]);
  }
}
