import type { Clock } from "../../base/clock.ts";
import { SharedMap } from "../../base/shared_map.ts";
import type { BudgetDefinition } from "../budget/budget.ts";
import {
  type CounterLease,
  type CounterStore,
  type LimitCounts,
  type LimitIdentity,
  limitKey,
  type LimitReading,
  type LimitSelection,
} from "./counter_store.ts";
import { LocalLimit } from "./local_limit.ts";

/** Keeps the limits of a process with one data plane, each while a configuration uses it. */
export class LocalCounterStore implements CounterStore {
  readonly #limits = new SharedMap<LocalLimit>();
  readonly #clock: Pick<Clock, "monotonic" | "now">;

  constructor(clock: Pick<Clock, "monotonic" | "now">) {
    this.#clock = clock;
  }

  lease(): CounterLease {
    const releases: (() => void)[] = [];
    return {
      limit: (identity, definition) => {
        const { value, release } = this.#acquire(identity, definition);
        const removeUser = value.addUser(identity, definition);
        releases.push(() => {
          removeUser();
          release();
        });
        return value;
      },
      ready: () => Promise.resolve(),
      release() {
        for (const release of releases.splice(0)) release();
      },
    };
  }

  counts(): Iterable<LimitCounts> {
    return this.#limits.values();
  }

  describe(): readonly LimitReading[] {
    const now = Math.floor(this.#clock.monotonic());
    return [...this.#limits.values()].map((limit) => limit.describe(now));
  }

  reset({ entry, key }: LimitSelection): number {
    let count = 0;
    for (const limit of this.#limits.values()) {
      if (entry === undefined || entry === limit.name) {
        count += limit.reset(key);
      }
    }
    return count;
  }

  #acquire(identity: LimitIdentity, definition: BudgetDefinition) {
    return this.#limits.acquire(
      limitKey(identity, definition),
      () => new LocalLimit(identity, definition, { clock: this.#clock }),
    );
  }
}
