import {
  type BudgetDefinition,
  type BudgetReading,
  shownAmount,
} from "../budget/budget.ts";
import type { GlobalLimit, LimitState } from "../limiter/global_limiter.ts";
import type { LimitSelection } from "../local/counter_store.ts";
import type { KvBucket } from "./kv_bucket.ts";

/** One global budget as this process sees it. */
export interface KvBudgetState
  extends BudgetReading, Pick<KvBucket, "name" | "owner" | "recordKey"> {
  readonly definition: BudgetDefinition;
  readonly entries: readonly (readonly [key: string, value: string])[];
  /** True once the record was read; before, the reading is that of an unused budget. */
  readonly isKnown: boolean;
  /** Requests that this process can admit without contacting the store. */
  readonly leased: number;
  /** Tokens used in this process and not yet visible to others. */
  readonly pendingDebits: number;
}

/** Describes buckets, in the same order. */
export function describeBuckets(
  buckets: readonly KvBucket[],
): readonly KvBudgetState[] {
  return buckets.map((bucket) => ({
    ...bucket.read(),
    name: bucket.name,
    owner: bucket.owner,
    recordKey: bucket.recordKey,
    definition: bucket.budget,
    entries: bucket.entries,
    isKnown: bucket.isKnown,
    leased: bucket.leased,
    pendingDebits: bucket.pendingDebits,
  }));
}

/** Summarizes a limit over Deno KV from the budgets that this process knows. */
export function readKvLimit(
  { name, definition, keys }: GlobalLimit,
  budgets: readonly KvBudgetState[],
): LimitState {
  const matching = budgets.filter((budget) =>
    isBudgetOf({ definition, keys }, budget)
  );
  let least: BudgetReading | undefined;
  let known = 0;
  let leased = 0;
  let pending = 0;
  let held = 0;
  for (const budget of matching) {
    leased += budget.leased;
    pending += budget.pendingDebits;
    held += budget.held ?? 0;
    if (!budget.isKnown) continue;
    known++;
    if (least === undefined || budget.remaining < least.remaining) {
      least = budget;
    }
  }
  const { unit, base, burst, windowMs } = definition;
  return {
    name,
    unit,
    limit: shownAmount(unit, base + burst),
    windowMs,
    ...(least && { remaining: least.remaining, resetMs: least.resetMs }),
    ...(definition.reserves === true && { held }),
    keys: known,
    leased,
    pending: shownAmount(unit, pending),
  };
}

/** Budgets with an owner that are described: the least remaining ones. */
const MAX_OWNED = 1000;

/**
 * Describes budgets with an owner of which something is used: the others may be gone, and are full if not.
 * @param budgets The least recently used one first.
 */
export function readOwnedBudgets(
  budgets: readonly KvBudgetState[],
): readonly LimitState[] {
  // One whose numbers have changed is known with both: the latest are in force.
  const latest = new Map(
    budgets.filter(({ owner }) => owner !== undefined)
      .map((each) => [each.recordKey, each]),
  );
  return [...latest.values()]
    .filter(({ isKnown, remaining, limit, held = 0 }) =>
      isKnown && (remaining < limit || held > 0)
    )
    .toSorted((a, b) => a.remaining / a.limit - b.remaining / b.limit)
    .slice(0, MAX_OWNED)
    .map(describeOwned);
}

function describeOwned(budget: KvBudgetState): LimitState {
  const { name, owner, unit, limit, remaining, resetMs, windowMs } = budget;
  const { held, leased, pendingDebits } = budget;
  // Differences of dollars have digits that no amount has.
  const used = Number((limit - remaining).toFixed(9));
  return {
    name,
    ...(owner !== undefined && { owner }),
    ...{ unit, limit, used, remaining, resetMs, windowMs },
    ...(held !== undefined && { held }),
    leased,
    pending: shownAmount(unit, pendingDebits),
  };
}

/** Returns whether a budget is selected: of a limit by its name, of an owner by the name that it is described with. */
export function selectBudgets(
  limits: readonly GlobalLimit[],
  { entry, key }: LimitSelection,
): (budget: KvBucket) => boolean {
  const named = limits.filter(({ name }) =>
    entry === undefined || entry === name
  );
  return ({ budget: definition, entries, owner, name }) =>
    (key === undefined || entries.some(([, value]) => value === key)) &&
    (owner !== undefined && (entry === undefined || entry === name) ||
      named.some((limit) => isBudgetOf(limit, { definition, entries })));
}

/** Reports whether a budget belongs to a limit. */
function isBudgetOf(
  { definition, keys }: Pick<GlobalLimit, "definition" | "keys">,
  budget: Pick<KvBudgetState, "definition" | "entries">,
): boolean {
  return isEqual(budget.definition, definition) &&
    isEqual(budget.entries.map(([key]) => key), keys);
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
