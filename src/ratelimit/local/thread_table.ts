import { type BudgetWindow, CLOSED } from "../budget/budget_window.ts";
import {
  boundKey,
  type BudgetTable,
  type CountName,
  type TableLock,
} from "./budget_table.ts";

/** Lock of a table that one thread uses. */
export const noLock: TableLock = {
  lock() {},
  tryLock: () => true,
  unlock() {},
};

/** Budget of a key, and its neighbors in the order of use. */
class Entry implements BudgetWindow {
  readonly key: string;
  readonly #onHeld: (change: number) => void;
  older: Entry | undefined;
  newer: Entry | undefined;
  used = 0;
  openedAt = CLOSED;
  held = 0;

  constructor(key: string, onHeld: (change: number) => void) {
    this.key = key;
    this.#onHeld = onHeld;
  }

  addHeld(amount: number): void {
    const held = Math.max(0, this.held + amount);
    this.#onHeld(held - this.held);
    this.held = held;
  }
}

/**
 * Budgets that one thread uses.
 *
 * The order is a linked list through the budgets. A `Map` keeps an order as well, but finding its first entry gets slow after many
 * deletions there.
 */
export class ThreadTable implements BudgetTable<string> {
  readonly maxKeys: number;
  held = 0;
  readonly #byKey = new Map<string, Entry>();
  readonly #counts = { admitted: 0, refused: 0, charged: 0, evictedKeys: 0 };
  readonly #onHeld = (change: number) => void (this.held += change);
  #oldest: Entry | undefined;
  #newest: Entry | undefined;

  constructor(maxKeys: number) {
    this.maxKeys = maxKeys;
  }

  get size(): number {
    return this.#byKey.size;
  }

  get oldest(): BudgetWindow | undefined {
    return this.#oldest;
  }

  keyOf(text: string): string {
    return boundKey(text);
  }

  use(key: string): BudgetWindow | undefined {
    const entry = this.#byKey.get(key);
    if (entry !== undefined && entry !== this.#newest) {
      this.#unlink(entry);
      this.#link(entry);
    }
    return entry;
  }

  peek(key: string): BudgetWindow | undefined {
    return this.#byKey.get(key);
  }

  add(key: string): BudgetWindow {
    const entry = new Entry(ownCopy(key), this.#onHeld);
    this.#byKey.set(entry.key, entry);
    this.#link(entry);
    return entry;
  }

  deleteOldest(): void {
    const oldest = this.#oldest;
    if (oldest === undefined) return;
    this.held -= oldest.held;
    this.#byKey.delete(oldest.key);
    this.#unlink(oldest);
  }

  windows(): Iterator<BudgetWindow> {
    return this.#byKey.values();
  }

  count(name: CountName): number {
    return this.#counts[name];
  }

  increase(name: CountName, by: number): void {
    this.#counts[name] += by;
  }

  #link(entry: Entry): void {
    entry.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  #unlink(entry: Entry): void {
    const { older, newer } = entry;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    entry.older = entry.newer = undefined;
  }
}

/** Copies a key: a substring keeps the whole string in memory, such as the head of a request. */
function ownCopy(key: string): string {
  return String(JSON.parse(JSON.stringify(key)));
}
