import type { BudgetDefinition } from "../budget.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** `RateLimitResponse.RateLimit.Unit` with the length of each in milliseconds; months and years are about that long. */
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
 * The unit that a rate limit service knows for windows of that length.
 *
 * @throws {RangeError} when it knows none; `describeServiceProblems` finds such budgets before
 */
export function serviceUnitOf(windowMs: number): number {
  const unit = findUnit(windowMs);
  if (unit === undefined) {
    throw new RangeError(
      `Cannot ask a rate limit service: expected a window of one second, minute, hour, day or week, got ${windowMs} ms`,
    );
  }
  return unit;
}

function findUnit(windowMs: number): number | undefined {
  return unitLengths.find(([, lengthMs]) => lengthMs === windowMs)?.[0];
}

/** Length of a unit in milliseconds; `undefined` for units that are not known. */
export function windowOfUnit(unit: number): number | undefined {
  return unitLengths.find(([known]) => known === unit)?.[1];
}

/** A configured descriptor, as far as a rate limit service sees it. */
export interface ServiceBudget {
  readonly budget: BudgetDefinition;
  /** Keys of the entries, such as `["user"]`. */
  readonly keys: readonly string[];
}

/** Something that a rate limit service cannot do as configured. */
export interface ServiceProblem {
  /** Place of the descriptor. */
  readonly index: number;
  /** Completes "a rate limit service …". */
  readonly problem: string;
}

/**
 * What a rate limit service cannot express. It is told amount and unit of a budget and nothing else, and it counts by domain,
 * entries and unit, so two descriptors that agree in those share one count.
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
        `cannot tell descriptor ${index} from descriptor ${twin}: expected another unit or other keys`,
      );
    }
    return problems.map((problem) => ({ index, problem }));
  });
}

function describeBudgetProblems(budget: BudgetDefinition): string[] {
  const problems: string[] = [];
  if (budget.burst > 0) problems.push("has no burst");
  if (budget.overshoot === "Carry") problems.push("cannot carry overshoot");
  if (findUnit(budget.windowMs) === undefined) {
    problems.push(`has no window of ${budget.windowMs} ms`);
  }
  return problems;
}
