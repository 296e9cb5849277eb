/** A value with its number, which grows with each value. */
export interface Numbered<T> {
  readonly number: number;
  readonly value: T;
}

interface Group<T> {
  readonly name: string;
  /** Oldest first. */
  readonly values: Numbered<T>[];
}

/** The last values of some groups. A full memory forgets the oldest of the largest group: no group can displace the others. */
export class FairMemory<T> {
  readonly #size: number;
  readonly #groups = new Map<string, Group<T>>();
  /** Groups by the number of their values; those that have had it for longer come first. */
  readonly #bySize: Set<Group<T>>[] = [];
  #used = 0;
  #last = 0;

  /** @param size Limit of values; 0 for none. */
  constructor(size: number) {
    this.#size = size;
  }

  get isOn(): boolean {
    return this.#size > 0;
  }

  get fill(): { readonly used: number; readonly capacity: number } {
    return { used: this.#used, capacity: this.#size };
  }

  /** Remembers a value, and forgets another when the memory is full. */
  remember(name: string, value: T): void {
    if (this.#size === 0) return;
    const group = this.#groups.getOrInsertComputed(
      name,
      () => ({ name, values: [] }),
    );
    const { values } = group;
    this.#bySize[values.length]?.delete(group);
    values.push({ number: ++this.#last, value });
    this.#file(group);
    if (this.#used === this.#size) this.#forget();
    else this.#used++;
  }

  /** Returns the values, the newest first. */
  list(): readonly Numbered<T>[] {
    return [...this.#groups.values()].flatMap(({ values }) => values)
      .sort((a, b) => b.number - a.number);
  }

  #file(group: Group<T>): void {
    const { length } = group.values;
    (this.#bySize[length] ??= new Set()).add(group);
  }

  #forget(): void {
    while (this.#bySize.at(-1)?.size === 0) this.#bySize.pop();
    const [group] = this.#bySize.at(-1) ?? [];
    if (group === undefined) return;
    this.#bySize.at(-1)?.delete(group);
    group.values.shift();
    if (group.values.length === 0) this.#groups.delete(group.name);
    else this.#file(group);
  }
}
