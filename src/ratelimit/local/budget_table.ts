import { createHash } from "node:crypto";
import type { BudgetWindow } from "../budget/budget_window.ts";

/** Counts of a limit since it came into force, over all keys. */
export type CountName = "admitted" | "refused" | "charged" | "evictedKeys";

/**
 * Budgets of a limit by key, in the order of last use, and the counts of the limit. A window that it returns is valid until the next
 * call.
 * @typeParam Key What the table knows a key by.
 */
export interface BudgetTable<Key> {
  readonly size: number;
  readonly maxKeys: number;
  /** Held for requests in progress, over all keys. */
  readonly held: number;
  /** The budget that is unused for longest. */
  readonly oldest: BudgetWindow | undefined;
  keyOf(text: string): Key;
  /** Returns the budget of a key, which becomes the most recent one. */
  use(key: Key): BudgetWindow | undefined;
  peek(key: Key): BudgetWindow | undefined;
  /** Adds a key that is not there, with a closed window. There must be room. */
  add(key: Key): BudgetWindow;
  deleteOldest(): void;
  /** Returns all budgets, in no particular order; others may be added and deleted meanwhile. */
  windows(): Iterator<BudgetWindow>;
  count(name: CountName): number;
  increase(name: CountName, by: number): void;
}

/** Keeps other threads away from a table, for some hundred nanoseconds; calls nest. */
export interface TableLock {
  lock(): void;
  /** Gives up after some sleeps of at most 10 ms; then returns false. */
  tryLock(sleeps: number): boolean;
  unlock(): void;
}

/** A table, and its place among those of a process. */
export interface BudgetMemory<Key> {
  readonly table: BudgetTable<Key>;
  readonly lock: TableLock;
  /** Place in the order in which threads lock several tables. */
  readonly order: number;
}

/** Keys per limit; at most 40 MB of memory. Beyond it, the key unused for longest is evicted. */
export const MAX_KEYS = 100_000;
/** Longer keys are replaced by their digest. */
const MAX_KEY_LENGTH = 128;

/** Returns the key, or a digest of a long one. */
export function boundKey(key: string): string {
  return key.length > MAX_KEY_LENGTH
    ? createHash("sha256").update(key).digest("base64url")
    : key;
}
