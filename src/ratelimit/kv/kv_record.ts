import type { BudgetDefinition } from "../budget.ts";

/** What processes share about one budget: one value in the store, replaced as a whole. */
export interface BudgetRecord {
  /**
   * When the window opened, by the time of the process that opened it; names the window. A window lies in the value itself, so it ends
   * on time whenever the store gets round to deleting what expired.
   */
  readonly openedAt: number;
  /** What is left for processes to take; below 0 when tokens were used beyond the budget. */
  readonly available: number;
}

/** Something used, or given back when `amount` is below 0, that the record does not know yet. */
export interface Charge {
  /** The window it belongs to; `undefined` for whichever is open when it reaches the store. */
  readonly openedAt: number | undefined;
  readonly amount: number;
}

/** Kept after a budget is full again, against clocks that disagree. */
const EXPIRY_MARGIN_MS = 600_000;
const LONGEST_EXPIRY_MS = 366 * 86_400_000;

/** No clock shows more milliseconds than that. */
const MAX_TIME = 8.64e15;

/** Checks what was read from the store; `undefined` when nothing is there, `damaged` for what no process of ours wrote. */
export function readRecord(
  value: unknown,
): BudgetRecord | "damaged" | undefined {
  if (value === null || value === undefined) return undefined;
  if (
    typeof value !== "object" || !("openedAt" in value) ||
    !("available" in value)
  ) return "damaged";
  const { openedAt, available } = value;
  return isNumberUpTo(MAX_TIME, openedAt) &&
      isNumberUpTo(Number.MAX_SAFE_INTEGER, available)
    ? { openedAt, available }
    : "damaged";
}

function isNumberUpTo(max: number, value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= max;
}

/** What stood in place of a record was replaced. */
export class DamagedRecord extends Error {
  constructor() {
    super("Cannot read a global budget, which now counts as used up");
  }
}

/**
 * What becomes of a record: its own window gets what belongs to it, the one that is open at `time` all the rest. Only what is counted
 * opens a window.
 * @param isAsked Whether a request is going to be counted.
 */
export function settle(
  before: BudgetRecord | undefined,
  budget: BudgetDefinition,
  charges: readonly Charge[],
  { time, isAsked }: { readonly time: number; readonly isAsked: boolean },
): BudgetRecord | undefined {
  const record = settleWindow(before, budget, charges);
  const late = lateUse(before, budget, charges);
  if (late === 0 && !isAsked) {
    const isPointless = record !== before && record !== undefined &&
      isUnused(record, budget);
    return isPointless ? undefined : record;
  }
  const open = enterWindow(record, budget, time);
  return late === 0 ? open : take(open, budget, late);
}

/** Applies what belongs to the window of the record; the rest is for the window after it. */
function settleWindow(
  record: BudgetRecord | undefined,
  budget: BudgetDefinition,
  charges: readonly Charge[],
): BudgetRecord | undefined {
  if (record === undefined) return undefined;
  const used = sumOf(
    charges.filter(({ openedAt }) => openedAt === record.openedAt),
  );
  return used === 0 ? record : take(record, budget, used);
}

/**
 * What those charges take from a window that opens after theirs. Leases given back late are lost, and so is overshoot that is forgiven;
 * debts are carried.
 */
function lateUse(
  record: BudgetRecord | undefined,
  budget: BudgetDefinition,
  charges: readonly Charge[],
): number {
  return sumOf(
    charges.filter(({ openedAt, amount }) =>
      openedAt === undefined ||
      (openedAt !== record?.openedAt && amount > 0 &&
        budget.overshoot === "Carry")
    ),
  );
}

/** Takes from what is available; more than the capacity never is. */
export function take(
  record: BudgetRecord,
  { base, burst }: BudgetDefinition,
  amount: number,
): BudgetRecord {
  const available = Math.min(base + burst, record.available - amount);
  return { openedAt: record.openedAt, available };
}

/** Whether nothing was used that a request could be charged for, so that its window need not go on. */
function isUnused(
  { available }: BudgetRecord,
  { unit, base, burst }: BudgetDefinition,
): boolean {
  return unit === "requests" && available === base + burst;
}

/** Whether the window ended at that time of `SeenRecord.meet`. */
export function isOver(
  { openedAt }: BudgetRecord,
  { windowMs }: BudgetDefinition,
  now: number,
): boolean {
  return now >= openedAt + windowMs;
}

/**
 * The record of the window that is open now: the same one until it ends, then one that opens later, never earlier. A new budget is
 * full; every window that ended gives `base`, also those in which nobody asked. A full budget opens its next window now; one that is not
 * went straight on from window to window, as a `LocalBudget` does.
 */
export function enterWindow(
  record: BudgetRecord | undefined,
  budget: BudgetDefinition,
  now: number,
): BudgetRecord {
  const { base, burst, overshoot, windowMs } = budget;
  const capacity = base + burst;
  if (record === undefined) return { openedAt: now, available: capacity };
  if (!isOver(record, budget, now)) return record;
  const elapsed = now - record.openedAt;
  const windows = Math.max(1, Math.floor(elapsed / windowMs));
  const kept = overshoot === "Carry"
    ? record.available
    : Math.max(0, record.available);
  const available = Math.min(capacity, kept + windows * base);
  const openedAt = available === capacity
    ? now
    : record.openedAt + windows * windowMs;
  return { openedAt, available };
}

/** How long a store has to keep a record: until the budget would be full again, which is what no record means. */
export function expiryOf(
  { available }: BudgetRecord,
  { base, burst, windowMs }: BudgetDefinition,
): number {
  const windows = Math.max(1, Math.ceil((base + burst - available) / base));
  return Math.min(windows * windowMs + EXPIRY_MARGIN_MS, LONGEST_EXPIRY_MS);
}

function sumOf(charges: readonly Charge[]): number {
  return charges.reduce((sum, { amount }) => sum + amount, 0);
}
