/** A typed place for one value per request, such as the claims of its token. */
export interface Slot<T> {
  /** Name of the value in messages and expressions, such as `jwt`. */
  readonly name: string;
  /** Never set; distinguishes the types of slots with different values. */
  readonly accepts?: (value: T) => T;
}

/** Defines a slot, as a constant of a module: slots with the same name are still different slots. */
export function defineSlot<T>(name: string): Slot<T> {
  return { name };
}

/**
 * Values that policies share with each other and with the gateway during one request. A request has only a few, so a list costs
 * less than a map.
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

  /** Returns the values as they are now. */
  copy(): Slots {
    const copy = new Slots();
    for (let entry = this.#last; entry !== undefined; entry = entry.next) {
      copy.#last = { ...entry, next: copy.#last };
    }
    return copy;
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
