import { createHash } from "node:crypto";
import { type Clock, systemClock } from "../../base/clock.ts";
import { type BudgetDefinition, holds, shownAmount } from "../budget/budget.ts";
import { CLOSED, readWindow, unusedWindow } from "../budget/budget_window.ts";
import {
  type Limit,
  type LimitCounts,
  type LimitPlace,
  type LimitReading,
  timeOf,
} from "./counter_store.ts";
import { type BudgetOwner, LocalBudget } from "./local_budget.ts";
import { LocalRecency } from "./local_recency.ts";

/** Keys per limit; at most 40 MB of memory. Beyond it, the key unused for longest is evicted. */
export const MAX_KEYS = 100_000;
/** Longer keys are replaced by their digest. */
const MAX_KEY_LENGTH = 128;
/** Idle budgets dropped for each new key, so that the number of keys follows the traffic. */
export const DROPPED_PER_KEY = 2;

/** A limit as a configuration defines it. */
interface LimitUser extends LimitPlace {
  readonly definition: BudgetDefinition;
}

/** Limit whose budgets one thread uses. */
export class LocalLimit implements Limit, LimitCounts, BudgetOwner {
  readonly order = 0;
  admitted = 0;
  refused = 0;
  chargedUnits = 0;
  heldUnits = 0;
  evictedKeys = 0;
  /** Numbers in force: those of the oldest configuration that uses the limit. */
  #current: LimitUser;
  readonly #users = new Set<LimitUser>();
  readonly #maxKeys: number;
  readonly #clock: Pick<Clock, "monotonic" | "now">;
  readonly #budgets = new LocalRecency();

  constructor(
    { scope, name }: LimitPlace,
    definition: BudgetDefinition,
    { clock = systemClock, maxKeys = MAX_KEYS }: {
      readonly clock?: Pick<Clock, "monotonic" | "now">;
      readonly maxKeys?: number;
    } = {},
  ) {
    this.#maxKeys = maxKeys;
    this.#clock = clock;
    this.#current = { scope, name, definition };
  }

  get scope(): string {
    return this.#current.scope;
  }

  get name(): string {
    return this.#current.name;
  }

  get definition(): BudgetDefinition {
    return this.#current.definition;
  }

  get capacity(): number {
    const { base, burst } = this.#current.definition;
    return base + burst;
  }

  /** Adds a configuration that uses the limit, until the returned function is called. */
  addUser(
    { scope, name }: LimitPlace,
    definition: BudgetDefinition,
  ): () => void {
    const user = { scope, name, definition };
    this.#users.add(user);
    this.#selectUser();
    return () => {
      this.#users.delete(user);
      this.#selectUser();
    };
  }

  time(now: number): number {
    return timeOf(this.definition, now, this.#clock);
  }

  budget(key: string, now: number): LocalBudget {
    const known = boundKey(key);
    return this.#budgets.use(known) ?? this.#add(known, now);
  }

  hold(): void {}

  release(): void {}

  get unit(): BudgetDefinition["unit"] {
    return this.definition.unit;
  }

  get charged(): number {
    return shownAmount(this.unit, this.chargedUnits);
  }

  get held(): number | undefined {
    const { unit, definition, heldUnits } = this;
    return holds(definition) ? shownAmount(unit, heldUnits) : undefined;
  }

  get keys(): number {
    return this.#budgets.size;
  }

  /** Makes budgets unused, that of a key or all; returns how many. */
  reset(key: string | undefined): number {
    const bound = key === undefined ? undefined : boundKey(key);
    let count = 0;
    for (const budget of this.#budgets.values()) {
      if (bound !== undefined && budget.key !== bound) continue;
      budget.openedAt = CLOSED;
      budget.used = 0;
      count++;
    }
    return count;
  }

  describe(now: number): LimitReading {
    const { scope, name, keys, evictedKeys, admitted, refused, charged } = this;
    let least = readWindow(unusedWindow(), this, this.time(now));
    let overshoot = 0;
    for (const budget of this.#budgets.values()) {
      const reading = budget.read(now);
      if (reading.remaining < least.remaining) least = reading;
      overshoot += budget.overshoot(now);
    }
    const counts = { keys, evictedKeys, admitted, refused, charged };
    return {
      scope,
      name,
      ...least,
      overshoot: shownAmount(this.unit, overshoot),
      ...counts,
      ...(holds(this.definition) && { held: this.held }),
    };
  }

  #selectUser(): void {
    // A configuration that is tried comes after the one in force.
    const [oldest] = this.#users;
    if (oldest !== undefined) this.#current = oldest;
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
    oldest.addHeld(-oldest.held);
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
