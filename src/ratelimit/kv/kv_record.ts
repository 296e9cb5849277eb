import {
  type BudgetDefinition,
  passWindows,
  windowEnd,
  windowStart,
} from "../budget/budget.ts";

/** State of one budget that processes share: one value in the store, replaced as a whole. */
export interface BudgetRecord {
  /**
   * Time at which the window opened, by the clock of the process that opened it; identifies the window. As part of the value it ends
   * the window on time, however late the store deletes expired entries.
   */
  readonly openedAt: number;
  /** Requests or tokens used, leases included; more than the capacity when tokens were used beyond the budget. */
  readonly used: number;
}

/** A use that is not in the record yet; a negative `amount` returns a lease. */
export interface Charge {
  /** Window of the charge; `undefined` for the one that is open when the charge reaches the store. */
  readonly openedAt: number | undefined;
  readonly amount: number;
}

/** Time that a record is kept after its budget is full again, because clocks differ. */
const EXPIRY_MARGIN_MS = 600_000;
const DAY_MS = 86_400_000;
const LONGEST_EXPIRY_MS = 366 * DAY_MS;

/** Close to the largest time value of a `Date`: the window still has an end. */
const MAX_TIME = 8.63e15;

/** Checks a value from the store; returns `undefined` for none, and `damaged` for one that no gateway wrote. */
export function readRecord(
  value: unknown,
): BudgetRecord | "damaged" | undefined {
  if (value === null || value === undefined) return undefined;
  if (
    typeof value !== "object" || !("openedAt" in value) || !("used" in value)
  ) return "damaged";
  const { openedAt, used } = value;
  return isNumberUpTo(MAX_TIME, openedAt) &&
      isNumberUpTo(Number.MAX_SAFE_INTEGER, used) && used >= 0
    ? { openedAt, used }
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
  const record = settleWindow(before, charges);
  const late = lateUse(before, budget, charges);
  if (late === 0 && !isRequested) {
    const isUnneeded = record !== before && record?.used === 0 &&
      budget.unit === "requests";
    return isUnneeded ? undefined : record;
  }
  const open = enterWindow(record, budget, time);
  return late === 0 ? open : take(open, late);
}

/** Applies the charges of the record's own window. */
function settleWindow(
  record: BudgetRecord | undefined,
  charges: readonly Charge[],
): BudgetRecord | undefined {
  if (record === undefined) return undefined;
  const used = sumOf(
    charges.filter(({ openedAt }) => openedAt === record.openedAt),
  );
  return used === 0 ? record : take(record, used);
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

/** Takes from the record. */
export function take(
  { openedAt, used }: BudgetRecord,
  amount: number,
): BudgetRecord {
  return { openedAt, used: Math.max(0, used + amount) };
}

/** Reports whether the window has ended at time `now` of `SeenRecord.meet`. */
export function isOver(
  { openedAt }: BudgetRecord,
  budget: BudgetDefinition,
  now: number,
): boolean {
  return now >= windowEnd(budget, openedAt);
}

/**
 * Returns the record of the window that is open at `now`: the same one until it ends, then a later one, never an earlier one. A new
 * budget is unused; every ended window returns `base`, also windows without requests. An unused budget opens its next window at `now`;
 * otherwise windows follow each other without a gap, as in `LocalBudget`.
 */
export function enterWindow(
  record: BudgetRecord | undefined,
  budget: BudgetDefinition,
  now: number,
): BudgetRecord {
  const { base, burst, overshoot } = budget;
  const unused = { openedAt: windowStart(budget, now), used: 0 };
  if (record === undefined) return unused;
  if (!isOver(record, budget, now)) return record;
  const used = overshoot === "Carry"
    ? record.used
    : Math.min(base + burst, record.used);
  const { openedAt } = record;
  const next = passWindows(budget, { openedAt, used }, now);
  return next.used === 0 ? unused : next;
}

/** Returns how long a store has to keep a record: until the budget would be unused again, as it is without a record. */
export function expiryOf(
  { used }: BudgetRecord,
  { base, windowMs, calendar }: BudgetDefinition,
): number {
  const windows = Math.max(1, Math.ceil(used / base));
  const longestMs = windowMs + (calendar === undefined ? 0 : 2 * DAY_MS);
  return Math.min(windows * longestMs + EXPIRY_MARGIN_MS, LONGEST_EXPIRY_MS);
}

function sumOf(charges: readonly Charge[]): number {
  return charges.reduce((sum, { amount }) => sum + amount, 0);
}
