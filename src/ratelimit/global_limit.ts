import { describeError } from "../base/errors.ts";
import type { BudgetDefinition, BudgetReading } from "./budget.ts";
import type { KvLimiterState } from "./kv/kv_description.ts";
import type { ServiceLimiterState } from "./service/service_limiter.ts";

/** A configured descriptor, as far as it can be told without a request. */
export interface GlobalLimit {
  /** Such as `100 requests per minute, by user`; what the environment gave is hidden. */
  readonly name: string;
  readonly definition: BudgetDefinition;
  /** Keys of the entries, such as `["user"]`. */
  readonly keys: readonly string[];
}

/** Which limiter it is, and whether it can be asked. */
export interface LimiterStatus {
  readonly domain: string;
  /** `KV`, or the address of a service such as `ratelimit:8081`. */
  readonly store: string;
  /** `ready`, `failing`, or what else the connection to a service may be. */
  readonly state: string;
  /** Why the last request could not be decided; `undefined` when it could. */
  readonly lastError: string | undefined;
}

/**
 * A global limit as `/config_dump` shows it. Of several keys, the budget with the least left. What is left out this process does not
 * know: only the service does, or the store told about none of the keys yet.
 */
export interface GlobalLimitReading
  extends
    LimiterStatus,
    Pick<BudgetReading, "unit" | "limit" | "windowMs">,
    Partial<Pick<BudgetReading, "remaining" | "resetMs">> {
  readonly name: string;
  /** Keys whose budget this process knows. */
  readonly keys?: number;
  /** Requests that this process may admit without asking, over all keys. */
  readonly leased?: number;
  /** Tokens that the other processes do not know yet, over all keys. */
  readonly pending?: number;
}

/** What is common to all limits of a limiter over Deno KV. */
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

/** What is common to all limits that a service keeps. */
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

/** A limit over Deno KV, from the budgets that this process knows. */
export function readKvLimit(
  { name, definition, keys }: GlobalLimit,
  { budgets }: KvLimiterState,
): Omit<GlobalLimitReading, keyof LimiterStatus> {
  const matching = budgets.filter((budget) =>
    isEqual(budget.definition, definition) &&
    isEqual(budget.entries.map(([key]) => key), keys)
  );
  let least: BudgetReading | undefined;
  let known = 0;
  let leased = 0;
  let pending = 0;
  for (const budget of matching) {
    leased += budget.leased;
    pending += budget.pendingDebits;
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
    limit: base + burst,
    windowMs,
    ...(least && { remaining: least.remaining, resetMs: least.resetMs }),
    keys: known,
    leased,
    pending,
  };
}

/** A limit that a service keeps, which alone knows what is left. */
export function readServiceLimit(
  { name, definition: { unit, base, windowMs } }: GlobalLimit,
): Omit<GlobalLimitReading, keyof LimiterStatus> {
  return { name, unit, limit: base, windowMs };
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function textOf(error: unknown): string | undefined {
  return error === undefined ? undefined : describeError(error);
}
