import type { Snapshot } from "./snapshot.ts";

/** Holds the snapshot in force; a request reads it once. */
export class SnapshotStore {
  #current: Snapshot;

  constructor(initial: Snapshot) {
    this.#current = initial;
  }

  get current(): Snapshot {
    return this.#current;
  }

  /** Puts `next` into force for requests accepted from now on. */
  swap(next: Snapshot): void {
    this.#current = next;
  }
}
