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

/** Counts by owner; those at zero take no memory. */
export class OwnerCounts {
  readonly #counts = new Map<string, number>();

  of(owner: string): number {
    return this.#counts.get(owner) ?? 0;
  }

  add(owners: readonly string[]): void {
    for (const owner of owners) this.#counts.set(owner, this.of(owner) + 1);
  }

  remove(owners: readonly string[]): void {
    for (const owner of owners) {
      const left = this.of(owner) - 1;
      if (left > 0) this.#counts.set(owner, left);
      else this.#counts.delete(owner);
    }
  }
}

function nameOf({ owners }: Waiting): string {
  return owners.join("\n");
}
