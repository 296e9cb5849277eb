/** A waiting request. */
interface Waiting {
  /** Names of its client, such as its address and its key. */
  readonly owners: readonly string[];
}

/** Waiting requests of several clients, which take turns; those of one client are served in order. */
export class FairQueue<T extends Waiting> {
  /** The client whose turn it is comes first. */
  readonly #byClient = new Map<string, Set<T>>();
  readonly #counts = new OwnerCounts();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Number of waiting requests of an owner. */
  count(owner: string): number {
    return this.#counts.of(owner);
  }

  add(item: T): void {
    const client = nameOf(item);
    this.#byClient.getOrInsertComputed(client, () => new Set()).add(item);
    this.#counts.add(item.owners);
    this.#length++;
  }

  delete(item: T): void {
    const client = nameOf(item);
    const own = this.#byClient.get(client);
    if (own?.delete(item) !== true) return;
    this.#counts.remove(item.owners);
    this.#length--;
    if (own.size === 0) this.#byClient.delete(client);
  }

  /** Returns the next request of the first client that `mayTake`, and lets that client wait for its next turn; does not remove it. */
  next(mayTake: (owners: readonly string[]) => boolean): T | undefined {
    for (const [client, own] of this.#byClient) {
      const [first] = own;
      if (first === undefined || !mayTake(first.owners)) continue;
      this.#byClient.delete(client);
      this.#byClient.set(client, own);
      return first;
    }
    return undefined;
  }

  /** Lists the requests. */
  values(): T[] {
    return [...this.#byClient.values()].flatMap((own) => [...own]);
  }
}

/** Owners at zero that are kept, besides as many as there are others. */
const MIN_KEPT = 256;

/**
 * Counts by owner. Those at zero stay for a while: a map that each request adds an owner to and removes it from becomes slow, and so
 * does the collection of its garbage.
 */
export class OwnerCounts {
  readonly #counts = new Map<string, { count: number }>();
  #maxKept = MIN_KEPT;

  of(owner: string): number {
    return this.#counts.get(owner)?.count ?? 0;
  }

  add(owners: readonly string[]): void {
    for (const owner of owners) {
      const known = this.#counts.get(owner);
      if (known !== undefined) known.count++;
      else this.#keep(owner);
    }
  }

  remove(owners: readonly string[]): void {
    for (const owner of owners) {
      const known = this.#counts.get(owner);
      if (known !== undefined && known.count > 0) known.count--;
    }
  }

  #keep(owner: string): void {
    if (this.#counts.size >= this.#maxKept) {
      for (const [each, { count }] of this.#counts) {
        if (count === 0) this.#counts.delete(each);
      }
      this.#maxKept = MIN_KEPT + 2 * this.#counts.size;
    }
    this.#counts.set(owner, { count: 1 });
  }
}

function nameOf({ owners }: Waiting): string {
  return owners.join("\n");
}
