import type { BudgetDescription } from "../../src/dataplane/data_plane.ts";
import { readInteger } from "../query_numbers.ts";

/** Budgets of which there may be more than a page can show. */
export interface ChosenBudgets {
  /** All that fit. */
  readonly total: number;
  /** In the order of the configuration; where there are too many, those with the least left. */
  readonly budgets: readonly BudgetDescription[];
}

/**
 * The budgets that a request asks for: `find` occurs in where they are configured or in their definition, at most `limit` of them.
 * @throws {InvalidParameter}
 */
export function chooseBudgets(
  budgets: readonly BudgetDescription[],
  { url }: Pick<Request, "url">,
): ChosenBudgets {
  const query = new URL(url).searchParams;
  const limit = readInteger(query, "limit", { from: 1, to: 1000, or: 1000 });
  const find = query.get("find")?.toLowerCase() ?? "";
  const fitting = budgets.filter(({ scope, entry }) =>
    `${scope} ${entry}`.toLowerCase().includes(find)
  );
  const chosen = fitting.length <= limit
    ? fitting
    : fitting.toSorted((a, b) => shareLeft(a) - shareLeft(b)).slice(0, limit);
  return { total: fitting.length, budgets: chosen };
}

/** What only a service knows comes last. */
function shareLeft({ remaining, limit }: BudgetDescription): number {
  return remaining === undefined ? Infinity : remaining / Math.max(limit, 1);
}
