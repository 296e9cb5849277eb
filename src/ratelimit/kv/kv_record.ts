import type { BudgetDefinition } from "../budget.ts";

/** State of one budget that processes share: one value in the store, replaced as a whole. */
export interface BudgetRecord {
  /**
   * Time at which the window opened, by the clock of the process that opened it; identifies the window. As part of the value it ends
   * the window on time, however late the store deletes expired entries.
   */
  readonly openedAt: number;
  /** Requests or tokens left to take; negative when tokens were used beyond the budget. */
  readonly available: number;
}

/** A use that is not in the record yet; a negative `amount` returns a lease. */
export interface Charge {
  /** Window of the charge; `undefined` for the one that is open when the charge reaches the store. */
  readonly openedAt: number | undefined;
  readonly amount: number;
}

/** Time that a record is kept after its budget is full again, because clocks differ. */
const EXPIRY_MARGIN_MS = 600_000;
const LONGEST_EXPIRY_MS = 366 * 86_400_000;

/** Largest time value of a `Date`. */
const MAX_TIME = 8.64e15;

/** Checks a value from the store; returns `undefined` for none, and `damaged` for one that no gateway wrote. */
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

/** A damaged record was replaced. */
export class DamagedRecord extends Error {
  constructor() {
    super(
      "Cannot read a global budget: its record is damaged and now counts as used up",
    );
  }
}

/**
 * Returns the record with the charges applied: those of its own window to it, the others to the window that is open at `time`. Only a
 * request or a charge opens a window.
 * @param isRequested Whether a request is waiting to be counted.
 */
export function settle(
  before: BudgetRecord | undefined,
  budget: BudgetDefinition,
  charges: readonly Charge[],
  { time, isRequested }: {
    readonly time: number;
    readonly isRequested: boolean;
  },
): BudgetRecord | undefined {
  const record = settleWindow(before, budget, charges);
  const late = lateUse(before, budget, charges);
  if (late === 0 && !isRequested) {
    const isUnneeded = record !== before && record !== undefined &&
      isUnused(record, budget);
    return isUnneeded ? undefined : record;
  }
  const open = enterWindow(record, budget, time);
  return late === 0 ? open : take(open, budget, late);
}

/** Applies the charges of the record's own window. */
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
 * Sums the charges that reduce a later window than their own. Leases returned late are lost, and so is forgiven overshoot; debts are
 * carried.
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

/** Takes from the record, which never holds more than the capacity. */
export function take(
  record: BudgetRecord,
  { base, burst }: BudgetDefinition,
  amount: number,
): BudgetRecord {
  const available = Math.min(base + burst, record.available - amount);
  return { openedAt: record.openedAt, available };
}

/** Reports whether no request is charged, so that the window can be closed. */
function isUnused(
  { available }: BudgetRecord,
  { unit, base, burst }: BudgetDefinition,
): boolean {
  return unit === "requests" && available === base + burst;
}

/** Reports whether the window has ended at time `now` of `SeenRecord.meet`. */
export function isOver(
  { openedAt }: BudgetRecord,
  { windowMs }: BudgetDefinition,
  now: number,
): boolean {
  return now >= openedAt + windowMs;
}

/**
 * Returns the record of the window that is open at `now`: the same one until it ends, then a later one, never an earlier one. A new
 * budget is full; every ended window adds `base`, also windows without requests. A full budget opens its next window at `now`; otherwise
 * windows follow each other without a gap, as in `LocalBudget`.
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

/** Returns how long a store has to keep a record: until the budget would be full again, as it is without a record. */
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
