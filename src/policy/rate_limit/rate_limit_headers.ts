import type { HeaderList } from "../../http/header_list.ts";
import { formatUsd, NANO_USD } from "../../base/log/log_text.ts";
import type { BudgetReading } from "../../ratelimit/budget/budget.ts";

/** Headers that report limits to clients, in lower case. */
export const limitHeaders: readonly string[] = [
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "ratelimit",
  "ratelimit-policy",
  "retry-after",
  "x-ext-ratelimited",
];

/** Writes the state of the budgets to a response, in place of fields of the upstream. */
export type WriteLimits = (
  headers: HeaderList,
  readings: readonly BudgetReading[],
) => void;

/** Writes the `x-ratelimit-*` fields and those of the IETF draft. */
export function writeStandardHeaders(
  headers: HeaderList,
  readings: readonly BudgetReading[],
): void {
  writeUsualHeaders(headers, readings);
  // The draft has no limits without windows.
  writeDraftHeaders(
    headers,
    readings.filter(({ unit }) => unit !== "concurrentRequests"),
  );
}

/**
 * Writes `x-ratelimit-limit`, `-remaining` and `-reset` for the budget with the least remaining; among equals, for the one that
 * resets last.
 */
export function writeUsualHeaders(
  headers: HeaderList,
  readings: readonly BudgetReading[],
): void {
  let [least] = readings;
  if (least === undefined) return;
  for (const reading of readings) {
    if (
      reading.remaining < least.remaining ||
      (reading.remaining === least.remaining && reading.resetMs > least.resetMs)
    ) least = reading;
  }
  headers.set("x-ratelimit-limit", amountText(least, least.limit));
  headers.set("x-ratelimit-remaining", amountText(least, least.remaining));
  headers.set("x-ratelimit-reset", String(seconds(least.resetMs)));
}

/** Writes every budget to `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11). */
function writeDraftHeaders(
  headers: HeaderList,
  readings: readonly BudgetReading[],
): void {
  if (readings.length === 0) return;
  const policies: string[] = [];
  const states: string[] = [];
  const uses = new Map<string, number>();
  for (const reading of readings) {
    const { resetMs, windowMs } = reading;
    const { unit, limit, remaining } = inWholeNumbers(reading);
    const window = seconds(windowMs);
    const base = `${limit}-${unit}-per-${window}s`;
    const use = (uses.get(base) ?? 0) + 1;
    uses.set(base, use);
    const name = use === 1 ? `"${base}"` : `"${base}-${use}"`;
    // Requests are the unit unless another is named, and there is no registered name for tokens.
    policies.push(`${name};q=${limit};w=${window}`);
    states.push(`${name};r=${remaining};t=${seconds(resetMs)}`);
  }
  headers.set("ratelimit-policy", policies.join(", "));
  headers.set("ratelimit", states.join(", "));
}

/** Formats an amount of a budget; money as a decimal fraction of a dollar. */
function amountText({ unit }: BudgetReading, amount: number): string {
  return unit === "usd" ? formatUsd(amount * NANO_USD) : String(amount);
}

/** Returns the numbers of a budget for structured fields, which have integers: money in millionths of a dollar. */
function inWholeNumbers({ unit, limit, remaining }: BudgetReading) {
  return unit === "usd"
    ? {
      unit: "microusd",
      limit: Math.round(limit * 1e6),
      remaining: Math.floor(remaining * 1e6),
    }
    : { unit, limit, remaining };
}

/** Rounds up to whole seconds, so that the window is over after that time. */
export function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}

/** Writes the headers that a limiter adds; they replace those with the same names. */
export function writeAddedHeaders(
  headers: HeaderList,
  added: readonly (readonly [name: string, value: string])[] = [],
): void {
  for (const [name] of added) headers.delete(name.toLowerCase());
  for (const [name, value] of added) headers.append(name.toLowerCase(), value);
}
