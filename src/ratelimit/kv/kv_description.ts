import {
  type BudgetDefinition,
  type BudgetReading,
  shownAmount,
} from "../budget/budget.ts";
import type { GlobalLimit, LimitState } from "../limiter/global_limiter.ts";
import type { KvBucket } from "./kv_bucket.ts";

/** One global budget as this process sees it. */
export interface KvBudgetState extends BudgetReading {
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

/** Reports whether a budget belongs to a limit. */
export function isBudgetOf(
  { definition, keys }: Pick<GlobalLimit, "definition" | "keys">,
  budget: Pick<KvBudgetState, "definition" | "entries">,
): boolean {
  return isEqual(budget.definition, definition) &&
    isEqual(budget.entries.map(([key]) => key), keys);
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
