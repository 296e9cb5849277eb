import type { BudgetDescription } from "../../src/dataplane/state/state_descriptions.ts";
import { readInteger } from "../http/query_parameters.ts";

/** A selection of budgets for the page. */
export interface BudgetSelection {
  /** Number of matching budgets. */
  readonly total: number;
  /** Those that are used up first, then those that are nearly, then the others in the order of the configuration; if there are too many, those with the least remaining. */
  readonly budgets: readonly BudgetDescription[];
}

/**
 * Selects budgets whose scope or definition contains `find`, at most `limit`.
 * @throws {InvalidParameter}
 */
export function selectBudgets(
  budgets: readonly BudgetDescription[],
  { url }: Pick<Request, "url">,
): BudgetSelection {
  const query = new URL(url).searchParams;
  const limit = readInteger(query, "limit", { from: 1, to: 1000, or: 1000 });
  const find = query.get("find")?.toLowerCase() ?? "";
  const matching = budgets.filter(({ scope, entry }) =>
    `${scope} ${entry}`.toLowerCase().includes(find)
  );
  const selected = matching.length <= limit
    // Stable: budgets change places only when they near their end.
    ? matching.toSorted((a, b) => urgency(a) - urgency(b))
    : matching.toSorted((a, b) => shareLeft(a) - shareLeft(b)).slice(0, limit);
  return { total: matching.length, budgets: selected };
}

function urgency(budget: BudgetDescription): number {
  const share = shareLeft(budget);
  return share <= 0 ? 0 : share < 0.2 ? 1 : 2;
}

/** Returns the remaining share; infinite for budgets that only a service knows, so that they come last. */
function shareLeft({ remaining, limit }: BudgetDescription): number {
  return remaining === undefined ? Infinity : remaining / Math.max(limit, 1);
}
