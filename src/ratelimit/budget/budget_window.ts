import {
  amountOf,
  type BudgetDefinition,
  type BudgetReading,
  heldBy,
  holds,
  passWindows,
  shownAmount,
  type Use,
  windowEnd,
  windowStart,
} from "./budget.ts";

/** Marks a closed window, in place of its opening time. */
export const CLOSED = -1;

/**
 * State of a budget, whatever its numbers are: those may change while it is in use. It starts unused and closed. The first request
 * opens a window; at its end `base` of what was used is available again. Then an unused budget closes; otherwise the next window opens
 * without a gap. Ended windows are accounted for on the next access, so there is no timer.
 *
 * Functions here write `openedAt` first: a thread that dies in between leaves less than there should be, never more.
 */
export interface BudgetWindow {
  /** At least 0; more than the capacity if more than the budget was used. */
  used: number;
  /** Milliseconds, monotonic or, of calendar windows, since the epoch; `CLOSED` while no window is open. */
  openedAt: number;
  /** Held for requests in progress; at least 0. */
  readonly held: number;
  addHeld(amount: number): void;
}

/** Returns an unused budget, changes of which have no effect. */
export function unusedWindow(): BudgetWindow {
  return { used: 0, openedAt: CLOSED, held: 0, addHeld() {} };
}

/** Rules of a window. */
export interface WindowRules {
  readonly definition: BudgetDefinition;
  /** Base and burst together. */
  readonly capacity: number;
}

/** Accounts for the windows that have ended. */
export function settle(
  window: BudgetWindow,
  { capacity, definition }: WindowRules,
  now: number,
): void {
  const { openedAt } = window;
  if (openedAt === CLOSED || now < windowEnd(definition, openedAt)) return;
  const used = definition.overshoot === "Carry"
    ? window.used
    : Math.min(capacity, window.used);
  const next = passWindows(definition, { openedAt, used }, now);
  window.openedAt = next.used === 0 ? CLOSED : next.openedAt;
  window.used = next.used;
}

/** Returns whether a settled window has room for a request. @param weight See `Limit.budget`. */
export function allows(
  { used, held }: BudgetWindow,
  { definition, capacity }: WindowRules,
  expected: Use,
  weight: number,
): boolean {
  return used + held + neededBy(definition, expected, weight) <= capacity;
}

/** Returns what has to be left for a request. */
function neededBy(
  definition: BudgetDefinition,
  expected: Use,
  weight: number,
): number {
  return Math.max(weight, heldBy(definition, expected));
}

/** Counts a request in a settled window: takes its weight from a request budget, opens the window of a token budget, holds what it may use. */
export function take(
  window: BudgetWindow,
  { definition }: WindowRules,
  now: number,
  expected: Use,
  weight: number,
): void {
  const { unit } = definition;
  if (unit !== "concurrentRequests") {
    charge(window, definition, unit === "requests" ? weight : 0, now);
  }
  const held = heldBy(definition, expected);
  if (held > 0) window.addHeld(held);
}

/** Charges a settled window. */
export function charge(
  window: BudgetWindow,
  definition: BudgetDefinition,
  amount: number,
  now: number,
): void {
  if (window.openedAt === CLOSED) {
    window.openedAt = windowStart(definition, now);
  }
  window.used += amount;
}

/** Refunds a `take` at `takenAt` to a settled window, unless it was in an earlier one. */
export function refund(
  window: BudgetWindow,
  { definition: { unit } }: WindowRules,
  takenAt: number,
  weight: number,
): void {
  const isOver = window.openedAt === CLOSED || takenAt < window.openedAt;
  if (unit !== "requests" || isOver || window.used === 0) return;
  if (window.used <= weight) window.openedAt = CLOSED;
  window.used = Math.max(0, window.used - weight);
}

/** Reads a settled window. */
export function readWindow(
  window: BudgetWindow,
  { definition, capacity: limit }: WindowRules,
  now: number,
): BudgetReading {
  const { unit, windowMs } = definition;
  const remaining = Math.max(0, limit - window.used - window.held);
  return {
    unit,
    limit: shownAmount(unit, limit),
    remaining: shownAmount(unit, remaining),
    resetMs: resetMs(window, definition, now),
    windowMs,
    ...(holds(definition) && { held: shownAmount(unit, window.held) }),
  };
}

/** Time after which a request that others leave no room is worth another attempt. */
const HELD_WAIT_MS = 1000;

/** Returns the time until a settled window admits a request; 0 if it does now. */
export function waitMs(
  window: BudgetWindow,
  rules: WindowRules,
  now: number,
  expected: Use,
  weight: number,
): number {
  const { definition, capacity } = rules;
  const { base, overshoot, windowMs } = definition;
  if (allows(window, rules, expected, weight)) return 0;
  const needed = neededBy(definition, expected, weight);
  if (window.used + needed <= capacity) return HELD_WAIT_MS;
  const debt = overshoot === "Carry" ? Math.max(0, window.used - capacity) : 0;
  return resetMs(window, definition, now) + Math.floor(debt / base) * windowMs;
}

/**
 * Returns what a budget of a unit is charged for a use.
 * @throws {RangeError} When that is not a whole number of 0 or more.
 */
export function checkedAmount(
  unit: BudgetDefinition["unit"],
  use: Use,
): number {
  const amount = amountOf(unit, use);
  if (Number.isSafeInteger(amount) && amount >= 0) return amount;
  throw new RangeError(
    `Cannot charge ${unit}: expected a whole number of 0 or more, got ${amount}`,
  );
}

function resetMs(
  { openedAt }: BudgetWindow,
  definition: BudgetDefinition,
  now: number,
): number {
  const start = openedAt === CLOSED ? now : openedAt;
  return windowEnd(definition, start) - now;
}
