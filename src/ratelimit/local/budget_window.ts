import type { BudgetDefinition, BudgetReading } from "../budget.ts";

/** Marks a closed window, in place of its opening time. */
export const CLOSED = -1;

/**
 * State of a budget. It starts full and closed. The first request opens a window; at its end `base` is added, up to the capacity. Then
 * a full budget closes; otherwise the next window opens without a gap. Ended windows are accounted for on the next access, so there is
 * no timer.
 *
 * Functions here write `openedAt` first: a thread that dies in between leaves less than there should be, never more.
 */
export interface BudgetWindow {
  /** Negative if more than the budget was used. */
  available: number;
  /** Monotonic milliseconds; `CLOSED` while no window is open. */
  openedAt: number;
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
  { capacity, definition: { base, overshoot, windowMs } }: WindowRules,
  now: number,
): void {
  const { available, openedAt } = window;
  if (openedAt === CLOSED || now < openedAt + windowMs) return;
  const windows = Math.floor((now - openedAt) / windowMs);
  const kept = overshoot === "Carry" ? available : Math.max(0, available);
  const settled = Math.min(capacity, kept + windows * base);
  window.openedAt = settled === capacity
    ? CLOSED
    : openedAt + windows * windowMs;
  window.available = settled;
}

/** Counts a request in a settled window: takes 1 from a request budget, opens the window of a token budget. */
export function take(
  window: BudgetWindow,
  { definition: { unit } }: WindowRules,
  now: number,
): void {
  if (window.openedAt === CLOSED) window.openedAt = now;
  if (unit === "requests") window.available--;
}

/** Charges a settled window. */
export function charge(
  window: BudgetWindow,
  tokens: number,
  now: number,
): void {
  if (window.openedAt === CLOSED) window.openedAt = now;
  window.available -= tokens;
}

/** Refunds a `take` at `takenAt` to a settled window, unless it was in an earlier one. */
export function refund(
  window: BudgetWindow,
  { definition: { unit }, capacity }: WindowRules,
  takenAt: number,
): void {
  const isOver = window.openedAt === CLOSED || takenAt < window.openedAt;
  if (unit === "tokens" || isOver) return;
  window.available++;
  if (window.available === capacity) window.openedAt = CLOSED;
}

/** Reads a settled window. */
export function readWindow(
  window: BudgetWindow,
  { definition: { unit, windowMs }, capacity: limit }: WindowRules,
  now: number,
): BudgetReading {
  const remaining = Math.max(0, window.available);
  return {
    unit,
    limit,
    remaining,
    resetMs: resetMs(window, windowMs, now),
    windowMs,
  };
}

/** Returns the time until a settled window admits a request; 0 if it does now. */
export function waitMs(
  window: BudgetWindow,
  { definition: { base, overshoot, windowMs } }: WindowRules,
  now: number,
): number {
  if (window.available > 0) return 0;
  const debt = overshoot === "Carry" ? -window.available : 0;
  return resetMs(window, windowMs, now) + Math.floor(debt / base) * windowMs;
}

/**
 * Checks a charge.
 * @throws {RangeError} When `tokens` is not a whole number of 0 or more.
 */
export function checkTokens(tokens: number): void {
  if (Number.isSafeInteger(tokens) && tokens >= 0) return;
  throw new RangeError(
    `Cannot charge tokens: expected a whole number of 0 or more, got ${tokens}`,
  );
}

function resetMs(
  { openedAt }: BudgetWindow,
  windowMs: number,
  now: number,
): number {
  return openedAt === CLOSED ? windowMs : openedAt + windowMs - now;
}
