import type { Clock } from "../../base/clock.ts";
import { SharedMap } from "../../base/shared_map.ts";
import { MAX_KEYS } from "./budget_table.ts";
import {
  type CounterLease,
  type CounterStore,
  type LimitCounts,
  limitKey,
  type LimitReading,
  type LimitSelection,
} from "./counter_store.ts";
import { KeyLimit, type ThreadClock } from "./key_limit.ts";
import { noLock, ThreadTable } from "./thread_table.ts";

/** Budgets, and the limits that use them, the oldest first. */
interface Entry {
  readonly table: ThreadTable;
  readonly limits: Set<KeyLimit<string>>;
}

/** Keeps the budgets of a process with one data plane, each while a configuration uses it. */
export class LocalCounterStore implements CounterStore {
  readonly #entries = new SharedMap<Entry>();
  readonly #thread: ThreadClock;
  readonly #maxKeys: number;

  constructor(
    clock: Pick<Clock, "monotonic" | "now">,
    { maxKeys = MAX_KEYS }: { readonly maxKeys?: number } = {},
  ) {
    this.#thread = { clock, aheadMs: 0 };
    this.#maxKeys = maxKeys;
  }

  lease(): CounterLease {
    const releases: (() => void)[] = [];
    return {
      limit: (identity, definition) => {
        const { value: { table, limits }, release } = this.#entries.acquire(
          limitKey(identity, definition),
          () => ({ table: new ThreadTable(this.#maxKeys), limits: new Set() }),
        );
        const limit = new KeyLimit<string>(identity, definition, this.#thread);
        limit.bind({ table, lock: noLock, order: 0 });
        limits.add(limit);
        releases.push(() => {
          limits.delete(limit);
          release();
        });
        return limit;
      },
      ready: () => Promise.resolve(),
      release() {
        for (const release of releases.splice(0)) release();
      },
    };
  }

  counts(): readonly LimitCounts[] {
    return this.#inForce().map((limit) => limit.counts());
  }

  describe(): readonly LimitReading[] {
    const now = Math.floor(this.#thread.clock.monotonic());
    return this.#inForce().map((limit) => limit.describe(now));
  }

  reset(selection: LimitSelection): number {
    return resetLimits(this.#inForce(), selection);
  }

  /** Returns the limits of the oldest configurations: one that is tried comes after the one in force. */
  #inForce(): KeyLimit<string>[] {
    return [...this.#entries.values()].flatMap(({ limits: [oldest] }) =>
      oldest ?? []
    );
  }
}

/** Makes budgets of limits unused; returns how many. */
export function resetLimits(
  limits: readonly Pick<KeyLimit<unknown>, "name" | "reset">[],
  { entry, key }: LimitSelection,
): number {
  return limits.filter(({ name }) => entry === undefined || entry === name)
    .reduce((count, limit) => count + limit.reset(key), 0);
}
