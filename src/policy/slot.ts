/** A typed place for one value per request, such as the claims of its token. */
export interface Slot<T> {
  /** Names the value for people and in expressions, such as `jwt`. */
  readonly name: string;
  /** Never set; makes slots of different types different types. */
  readonly accepts?: (value: T) => T;
}

/** Defines a slot, as a constant of a module: two slots are different also when they share a name. */
export function defineSlot<T>(name: string): Slot<T> {
  return { name };
}

/**
 * Values that policies leave for each other and for the gateway while they handle one request. A request has a handful
 * of them at most, so they are a list that is searched: it costs less than a map.
 */
export class Slots {
  #last: Entry<unknown> | undefined;

  /** Returns the value; `undefined` when nobody has set it. */
  get<T>(slot: Slot<T>): T | undefined {
    for (let entry = this.#last; entry !== undefined; entry = entry.next) {
      if (isOf(entry, slot)) return entry.value;
    }
    return undefined;
  }

  /** Sets the value, in place of any other; `undefined` removes it. */
  set<T>(slot: Slot<T>, value: T | undefined): void {
    for (let entry = this.#last; entry !== undefined; entry = entry.next) {
      if (entry.slot === slot) return void (entry.value = value);
    }
    this.#last = { slot, value, next: this.#last };
  }
}

interface Entry<T> {
  readonly slot: object;
  value: T | undefined;
  readonly next: Entry<unknown> | undefined;
}

function isOf<T>(entry: Entry<unknown>, slot: Slot<T>): entry is Entry<T> {
  return entry.slot === slot;
}
