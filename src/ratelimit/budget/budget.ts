import { NANO_USD } from "../../base/log/log_text.ts";
import { type CalendarRule, calendarWindows } from "./calendar.ts";

/** Tokens and money that a request used; a `TokenUsage` is one. */
export interface Use {
  /** Input and output. */
  readonly totalTokens: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In billionths of a US dollar, as are the numbers of budgets of unit `usd`. */
  readonly nanoUsd: number;
}

/** Returns an amount as people read it: money in US dollars. */
export function shownAmount(
  unit: BudgetDefinition["unit"],
  amount: number,
): number {
  return unit === "usd" ? amount / NANO_USD : amount;
}

/** Usage of a request that used nothing. */
export const noUse: Use = {
  totalTokens: 0,
  inputTokens: 0,
  outputTokens: 0,
  nanoUsd: 0,
};

/** Returns what a budget is charged for a use; 0 for budgets of requests, which `take` charges. */
export function amountOf(unit: BudgetDefinition["unit"], use: Use): number {
  return isOfRequests(unit) ? 0 : use[amounts[unit]];
}

/** Names of the amounts by unit of a budget. */
const amounts = {
  tokens: "totalTokens",
  inputTokens: "inputTokens",
  outputTokens: "outputTokens",
  usd: "nanoUsd",
} as const satisfies Record<string, keyof Use>;

/** Returns what a budget holds from the admission of a request to its end. @param expected Most that it is expected to use. */
export function heldBy(
  { unit, reserves }: Pick<BudgetDefinition, "unit" | "reserves">,
  expected: Use,
): number {
  if (unit === "concurrentRequests") return 1;
  return reserves === true ? amountOf(unit, expected) : 0;
}

/** Reports whether a budget holds anything for requests in progress. */
export function holds(
  { unit, reserves }: Pick<BudgetDefinition, "unit" | "reserves">,
): boolean {
  return unit === "concurrentRequests" || reserves === true;
}

/** Reports whether a unit is known at admission. */
export function isOfRequests(
  unit: BudgetDefinition["unit"],
): unit is "requests" | "concurrentRequests" {
  return unit === "requests" || unit === "concurrentRequests";
}

/** Reports whether a budget may be used up while a request is in progress, so that it has to end. */
export function isEnforcedLater(
  { unit, isSoft }: Pick<BudgetDefinition, "unit" | "isSoft">,
): boolean {
  return !isOfRequests(unit) && isSoft !== true;
}

/** Amount that may be used in a window, and what happens at its end. */
export interface BudgetDefinition {
  /** `concurrentRequests` has no windows: a request holds 1 from its admission to its end. */
  readonly unit: "requests" | "concurrentRequests" | keyof typeof amounts;
  /** Amount that every window adds; at least 1. */
  readonly base: number;
  /** Amount beyond `base` that one window can use if earlier ones left it over; 0 or more. */
  readonly burst: number;
  /** Length of a window, which opens with the first request that is counted; of a calendar window, the usual length. */
  readonly windowMs: number;
  /** Windows begin with the days, weeks or months of a time zone; times are those of the wall clock then. */
  readonly calendar?: CalendarRule;
  /** Tokens used beyond the budget are forgotten at the reset, or subtracted from the next window. */
  readonly overshoot: "Forgive" | "Carry";
  /** Only warns when it is used up. */
  readonly isSoft?: boolean;
  /** Holds what a request is expected to use, from its admission until its usage is known. */
  readonly reserves?: boolean;
  /** Tells budgets of one `global` block apart that differ in their numbers only. */
  readonly variant?: number;
}

/** Returns when a window opens whose first request comes at `time`. */
export function windowStart(
  { calendar }: Pick<BudgetDefinition, "calendar">,
  time: number,
): number {
  return calendar === undefined
    ? time
    : calendarWindows(calendar).startOf(time);
}

/** Returns when a window ends. */
export function windowEnd(
  { calendar, windowMs }: Pick<BudgetDefinition, "calendar" | "windowMs">,
  openedAt: number,
): number {
  return calendar === undefined
    ? openedAt + windowMs
    : calendarWindows(calendar).endOf(openedAt);
}

/**
 * Passes windows that have ended at `now`: each makes `base` of the used amount available again, until nothing is used.
 * @param used At least 0, at the end of the window that opened at `openedAt`.
 */
export function passWindows(
  definition: BudgetDefinition,
  { openedAt, used }: { readonly openedAt: number; readonly used: number },
  now: number,
): { readonly openedAt: number; readonly used: number } {
  const { base, windowMs } = definition;
  if (definition.calendar === undefined) {
    const windows = Math.max(0, Math.floor((now - openedAt) / windowMs));
    return {
      openedAt: openedAt + windows * windowMs,
      used: Math.max(0, used - windows * base),
    };
  }
  let [start, left] = [openedAt, used];
  let end = windowEnd(definition, start);
  while (end <= now && left > 0) {
    left = Math.max(0, left - base);
    start = end;
    end = windowEnd(definition, start);
  }
  return { openedAt: start, used: left };
}

/** A budget as headers, log and trace show it: money in US dollars. */
export interface BudgetReading {
  readonly unit: BudgetDefinition["unit"];
  /** Base and burst together. */
  readonly limit: number;
  /** Never below 0. */
  readonly remaining: number;
  /** Until the window resets; its whole length while it is not open. */
  readonly resetMs: number;
  readonly windowMs: number;
  /** Held for requests in progress, in budgets that do so; not part of `remaining`. */
  readonly held?: number | undefined;
}

/** Returns the reading that resets last. */
export function longestWait<Reading extends BudgetReading>(
  readings: readonly Reading[],
): Reading | undefined {
  let [longest] = readings;
  for (const reading of readings) {
    if (longest === undefined || reading.resetMs > longest.resetMs) {
      longest = reading;
    }
  }
  return longest;
}
