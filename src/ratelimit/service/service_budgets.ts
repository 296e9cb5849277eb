import type { BudgetDefinition } from "../budget/budget.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** `RateLimitResponse.RateLimit.Unit` with lengths in milliseconds; months and years are approximate. */
const unitLengths: readonly (readonly [unit: number, lengthMs: number])[] = [
  [1, 1000],
  [2, 60_000],
  [3, HOUR_MS],
  [4, DAY_MS],
  [5, 30 * DAY_MS],
  [6, 365 * DAY_MS],
  [7, 7 * DAY_MS],
];

/**
 * Returns the protocol's unit for windows of a length.
 *
 * @throws {RangeError} When there is none; `describeServiceProblems` reports such budgets.
 */
export function serviceUnitOf(windowMs: number): number {
  const unit = findUnit(windowMs);
  if (unit === undefined) {
    throw new RangeError(
      `Cannot use a rate limit service: expected a window of one second, minute, hour, day or week, got ${windowMs} ms`,
    );
  }
  return unit;
}

function findUnit(windowMs: number): number | undefined {
  return unitLengths.find(([, lengthMs]) => lengthMs === windowMs)?.[0];
}

/** Returns the length of a unit in milliseconds; `undefined` for unknown units. */
export function windowOfUnit(unit: number): number | undefined {
  return unitLengths.find(([known]) => known === unit)?.[1];
}

/** A configured descriptor as a rate limit service sees it. */
export interface ServiceBudget {
  readonly budget: BudgetDefinition;
  /** Keys of the entries, such as `["user"]`. */
  readonly keys: readonly string[];
}

/** Configuration that a rate limit service does not support. */
export interface ServiceProblem {
  /** Index of the descriptor. */
  readonly index: number;
  /** Completes "a rate limit service …". */
  readonly problem: string;
}

/**
 * Reports what a rate limit service does not support. It receives only the amount and unit of a budget, and it counts by domain,
 * entries and unit, so descriptors that are equal in these share one count.
 */
export function describeServiceProblems(
  descriptors: readonly ServiceBudget[],
): ServiceProblem[] {
  const seen = new Map<string, number>();
  return descriptors.flatMap(({ budget, keys }, index) => {
    const problems = describeBudgetProblems(budget);
    const identity = JSON.stringify([budget.windowMs, ...keys]);
    const twin = seen.get(identity);
    seen.set(identity, twin ?? index);
    if (twin !== undefined) {
      problems.push(
        `cannot distinguish descriptor ${index} from descriptor ${twin}: use another unit or other keys`,
      );
    }
    return problems.map((problem) => ({ index, problem }));
  });
}

function describeBudgetProblems(budget: BudgetDefinition): string[] {
  const problems: string[] = [];
  if (budget.burst > 0) problems.push("has no burst");
  if (budget.overshoot === "Carry") problems.push("cannot carry overshoot");
  if (budget.isSoft === true) problems.push("always rejects");
  if (budget.reserves === true) problems.push("cannot reserve");
  if (budget.unit === "usd") problems.push("cannot count money");
  if (budget.calendar !== undefined && budget.calendar.timeZone !== "UTC") {
    problems.push("has no time zones: its windows are those of UTC");
  }
  if (findUnit(budget.windowMs) === undefined) {
    problems.push(`has no window of ${budget.windowMs} ms`);
  }
  return problems;
}
