/** Budgets in forms: `50usd/month, 100requests/minute`. */
import type { KeyObjectList } from "../../../responses.ts";
import {
  EXPECTED_BUDGET,
  formatBudget,
  parseBudget,
} from "../../../../../src/api/budget_text.ts";

type Budgets = KeyObjectList["objects"][number]["budgets"];

/** Returns the budgets of an object as text, for people. */
export function describeBudgets(budgets: Budgets = []): string {
  return budgets.map((each) =>
    formatBudget(each)?.replace(/^[\d.]+/, "$& ") ?? "other"
  ).join(", ");
}

/** Returns the budgets that a form can show as its text. */
export function amountsOf(budgets: Budgets = []): string {
  return budgets.flatMap((each) => formatBudget(each) ?? []).join(", ");
}

/** Returns what is wrong with the text of a form; `undefined` if nothing is. */
export function findWrong(amounts: string): string | undefined {
  const wrong = listOf(amounts).find((each) => !parseBudget(each));
  return wrong === undefined
    ? undefined
    : `Invalid budget "${wrong}": expected ${EXPECTED_BUDGET}`;
}

/** Returns the budgets of a form, and those before that it cannot show, which stay as they are; `undefined` for none. */
export function readBudgets(
  amounts: string,
  before: Budgets = [],
  notifyAt: readonly number[] = [],
) {
  const others = before.filter((each) => formatBudget(each) === undefined);
  const shown = listOf(amounts).map((each) => ({
    ...parseBudget(each),
    ...notifyAt.length > 0 && { notifyAt },
  }));
  const all = [...shown, ...others];
  return all.length === 0 ? undefined : all;
}

/** Splits a text at its commas. */
export function listOf(text: string): readonly string[] {
  return text.split(",").map((each) => each.trim())
    .filter((each) => each !== "");
}
