import type { BudgetDescription } from "../../../src/dataplane/state/state_descriptions.ts";

/** Remains of a budget of a key, a user or a team. */
export interface BudgetView {
  /** Such as `team blue`. */
  readonly owner: string;
  /** Its definition in words. */
  readonly entry: string;
  readonly limit: number;
  readonly unit: string;
  /** In the current window, as the next. */
  readonly used: number | undefined;
  readonly remaining: number | undefined;
  /** When the budget starts anew, in RFC 3339. */
  readonly resetsAt?: string;
}

/** Returns the budgets of some owners, such as `team blue`. @param now In milliseconds since the epoch. */
export function budgetsOf(
  budgets: readonly BudgetDescription[],
  owners: ReadonlySet<string>,
  now: number,
): readonly BudgetView[] {
  return budgets.flatMap(({ owner = "", ...budget }) => {
    if (!owners.has(owner)) return [];
    const { entry, limit, unit, used, remaining, resetSeconds } = budget;
    return [{
      ...{ owner, entry, limit, unit, used, remaining },
      ...resetSeconds !== undefined && {
        resetsAt: formatSecond(now + resetSeconds * 1000),
      },
    }];
  });
}

/** Windows end with a second of the clock, and what is left of them is rounded up. */
function formatSecond(at: number): string {
  const rounded = new Date(Math.floor(at / 1000) * 1000);
  return rounded.toISOString().replace(".000Z", "Z");
}
