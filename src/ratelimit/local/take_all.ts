import { noUse, type Use } from "../budget/budget.ts";
import type { Budget } from "./counter_store.ts";

/** Facts about a request to admit. */
export interface TakeOptions {
  /** Most that it is expected to use; nothing by default. */
  readonly expected?: Use;
  /** Called for each exhausted budget that only warns. */
  readonly onSoft?: (budget: Budget) => void;
}

/**
 * Charges a request to all budgets, or to none: then returns the exhausted budget with the longest wait.
 */
export function takeAll(
  budgets: readonly Budget[],
  now: number,
  options: TakeOptions = {},
): Budget | undefined {
  const { expected = noUse } = options;
  return locked(budgets, () => {
    const exhausted = findExhausted(budgets, now, options);
    if (exhausted !== undefined) {
      exhausted.reject();
      return exhausted;
    }
    for (const budget of budgets) budget.take(now, expected);
    return undefined;
  });
}

/** Holds what an admitted request is expected to use further in all budgets, or in none; returns whether there was room. */
export function holdAll(
  budgets: readonly Budget[],
  now: number,
  expected: Use,
): boolean {
  return locked(budgets, () => {
    if (findExhausted(budgets, now, { expected }) !== undefined) return false;
    for (const budget of budgets) budget.hold(expected, now);
    return true;
  });
}

/** Keeps other threads away from the budgets. */
function locked<Result>(
  budgets: readonly Budget[],
  action: () => Result,
): Result {
  const ordered = inOrder(budgets);
  for (const { limit } of ordered) limit.lock();
  try {
    return action();
  } finally {
    for (const { limit } of ordered) limit.unlock();
  }
}

function findExhausted(
  budgets: readonly Budget[],
  now: number,
  { expected = noUse, onSoft }: TakeOptions,
): Budget | undefined {
  let longest: Budget | undefined;
  for (const budget of budgets) {
    if (budget.allows(now, expected)) continue;
    if (budget.limit.definition.isSoft === true) {
      onSoft?.(budget);
      continue;
    }
    const waitMs = budget.waitMs(now, expected);
    if (longest === undefined || waitMs > longest.waitMs(now, expected)) {
      longest = budget;
    }
  }
  return longest;
}

/** Threads that lock several limits in the same order never wait for each other in a circle. */
function inOrder(budgets: readonly Budget[]): readonly Budget[] {
  let last = 0;
  for (const { limit: { order } } of budgets) {
    if (order < last) {
      return budgets.toSorted((a, b) => a.limit.order - b.limit.order);
    }
    last = order;
  }
  return budgets;
}
