import { createHash } from "node:crypto";
import type { BudgetDefinition } from "../budget.ts";
import { CLOSED, readWindow } from "./budget_window.ts";
import type {
  Limit,
  LimitCounts,
  LimitPlace,
  LimitReading,
} from "./counter_store.ts";
import { type BudgetOwner, LocalBudget } from "./local_budget.ts";
import { LocalRecency } from "./local_recency.ts";

/** Keys per limit; at most 40 MB of memory. Beyond it, the key unused for longest is evicted. */
export const MAX_KEYS = 100_000;
/** Longer keys are replaced by their digest. */
const MAX_KEY_LENGTH = 128;
/** Idle budgets dropped for each new key, so that the number of keys follows the traffic. */
export const DROPPED_PER_KEY = 2;

/** Limit whose budgets one thread uses. */
export class LocalLimit implements Limit, LimitCounts, BudgetOwner {
  readonly scope: string;
  readonly name: string;
  readonly definition: BudgetDefinition;
  readonly capacity: number;
  readonly order = 0;
  admitted = 0;
  refused = 0;
  tokens = 0;
  evictedKeys = 0;
  readonly #maxKeys: number;
  readonly #budgets = new LocalRecency();

  constructor(
    { scope, name }: LimitPlace,
    definition: BudgetDefinition,
    maxKeys = MAX_KEYS,
  ) {
    this.#maxKeys = maxKeys;
    this.scope = scope;
    this.name = name;
    this.definition = definition;
    this.capacity = definition.base + definition.burst;
  }

  budget(key: string, now: number): LocalBudget {
    const known = boundKey(key);
    return this.#budgets.use(known) ?? this.#add(known, now);
  }

  hold(): void {}

  release(): void {}

  get keys(): number {
    return this.#budgets.size;
  }

  describe(now: number): LimitReading {
    const { scope, name, keys, evictedKeys, admitted, refused, tokens } = this;
    let least = readWindow(
      { available: this.capacity, openedAt: CLOSED },
      this,
      now,
    );
    let overshoot = 0;
    for (const budget of this.#budgets.values()) {
      const reading = budget.read(now);
      if (reading.remaining < least.remaining) least = reading;
      overshoot += budget.overshoot(now);
    }
    const counts = { keys, evictedKeys, admitted, refused, tokens };
    return { scope, name, ...least, overshoot, ...counts };
  }

  #add(key: string, now: number): LocalBudget {
    this.#makeRoom(now);
    const budget = new LocalBudget(this, ownCopy(key));
    this.#budgets.add(budget);
    return budget;
  }

  #makeRoom(now: number): void {
    for (let i = 0; i < DROPPED_PER_KEY; i++) {
      const { oldest } = this.#budgets;
      if (oldest === undefined || !oldest.isIdle(now)) break;
      this.#budgets.delete(oldest);
    }
    const { oldest, size } = this.#budgets;
    if (oldest === undefined || size < this.#maxKeys) return;
    this.#budgets.delete(oldest);
    this.evictedKeys++;
  }
}

/** Returns the key, or a digest of a long one. */
export function boundKey(key: string): string {
  return key.length > MAX_KEY_LENGTH
    ? createHash("sha256").update(key).digest("base64url")
    : key;
}

/** Copies a key: a substring keeps the whole string in memory, such as the head of a request. */
function ownCopy(key: string): string {
  return String(JSON.parse(JSON.stringify(key)));
}
