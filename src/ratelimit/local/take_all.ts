import type { Budget } from "./counter_store.ts";

/**
 * Charges a request to all budgets, or to none: then returns the exhausted budget with the longest wait.
 * @param onSoft Called for each exhausted budget that only warns.
 */
export function takeAll(
  budgets: readonly Budget[],
  now: number,
  onSoft?: (budget: Budget) => void,
): Budget | undefined {
  const held = inOrder(budgets);
  for (const { limit } of held) limit.hold();
  try {
    const exhausted = findExhausted(budgets, now, onSoft);
    if (exhausted !== undefined) {
      exhausted.reject();
      return exhausted;
    }
    for (const budget of budgets) budget.take(now);
    return undefined;
  } finally {
    for (const { limit } of held) limit.release();
  }
}

function findExhausted(
  budgets: readonly Budget[],
  now: number,
  onSoft?: (budget: Budget) => void,
): Budget | undefined {
  let longest: Budget | undefined;
  for (const budget of budgets) {
    if (budget.allows(now)) continue;
    if (budget.limit.definition.isSoft === true) {
      onSoft?.(budget);
      continue;
    }
    if (longest === undefined || budget.waitMs(now) > longest.waitMs(now)) {
      longest = budget;
    }
  }
  return longest;
}

/** Threads that hold several limits in the same order never wait for each other in a circle. */
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
