import { describeError } from "../base/errors.ts";
import { type BudgetReading, shownAmount } from "./budget/budget.ts";
import type { GlobalLimit } from "./limiter/global_limiter.ts";
import type { KvBudgetState, KvLimiterState } from "./kv/kv_description.ts";
import type { ServiceLimiterState } from "./service/service_limiter.ts";

/** Identity and availability of a limiter. */
export interface LimiterStatus {
  readonly domain: string;
  /** `KV`, or the address of a service such as `ratelimit:8081`. */
  readonly store: string;
  /** `ready`, `failing`, or another state of the connection to a service. */
  readonly state: string;
  /** Error of the last decision; `undefined` if it succeeded. */
  readonly lastError: string | undefined;
}

/**
 * A global limit as `/config_dump` shows it: of several keys, the budget with the least left. Fields that this process does not know
 * are missing: only the service knows them, or no key was read from the store yet.
 */
export interface GlobalLimitReading
  extends
    LimiterStatus,
    Pick<BudgetReading, "unit" | "limit" | "windowMs">,
    Partial<Pick<BudgetReading, "remaining" | "resetMs">> {
  readonly name: string;
  /** Keys whose budgets this process knows. */
  readonly keys?: number;
  /** Held for requests of this process in progress, over all keys, by limits that reserve. */
  readonly held?: number;
  /** Requests that this process can admit without contacting the store, over all keys. */
  readonly leased?: number;
  /** Tokens or US dollars not yet visible to other processes, over all keys. */
  readonly pending?: number;
}

/** Returns the fields common to all limits of a limiter over Deno KV. */
export function kvStatus(
  { domain, error }: KvLimiterState,
  lastError: unknown,
): LimiterStatus {
  const failure = error ?? lastError;
  return {
    domain,
    store: "KV",
    state: failure === undefined ? "ready" : "failing",
    lastError: textOf(failure),
  };
}

/** Returns the fields common to all limits of a rate limit service. */
export function serviceStatus(
  { domain, address, connection }: ServiceLimiterState,
  lastError: unknown,
): LimiterStatus {
  return {
    domain,
    store: address,
    state: connection,
    lastError: textOf(lastError),
  };
}

/** Summarizes a limit over Deno KV from the budgets that this process knows. */
export function readKvLimit(
  { name, definition, keys }: GlobalLimit,
  { budgets }: KvLimiterState,
): Omit<GlobalLimitReading, keyof LimiterStatus> {
  const matching = budgets.filter((budget) =>
    isBudgetOf({ definition, keys }, budget)
  );
  let least: BudgetReading | undefined;
  let known = 0;
  let leased = 0;
  let pending = 0;
  let held = 0;
  for (const budget of matching) {
    leased += budget.leased;
    pending += budget.pendingDebits;
    held += budget.held ?? 0;
    if (!budget.isKnown) continue;
    known++;
    if (least === undefined || budget.remaining < least.remaining) {
      least = budget;
    }
  }
  const { unit, base, burst, windowMs } = definition;
  return {
    name,
    unit,
    limit: shownAmount(unit, base + burst),
    windowMs,
    ...(least && { remaining: least.remaining, resetMs: least.resetMs }),
    ...(definition.reserves === true && { held }),
    keys: known,
    leased,
    pending: shownAmount(unit, pending),
  };
}

/** Describes a limit of a rate limit service; only the service knows what is left. */
export function readServiceLimit(
  { name, definition: { unit, base, windowMs } }: GlobalLimit,
): Omit<GlobalLimitReading, keyof LimiterStatus> {
  return { name, unit, limit: base, windowMs };
}

/** Reports whether a budget belongs to a limit. */
export function isBudgetOf(
  { definition, keys }: Pick<GlobalLimit, "definition" | "keys">,
  budget: Pick<KvBudgetState, "definition" | "entries">,
): boolean {
  return isEqual(budget.definition, definition) &&
    isEqual(budget.entries.map(([key]) => key), keys);
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function textOf(error: unknown): string | undefined {
  return error === undefined ? undefined : describeError(error);
}
