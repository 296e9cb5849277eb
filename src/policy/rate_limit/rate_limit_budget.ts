import { type WindowUnit, windowUnits } from "./budget_schema.ts";
import type { GlobalRateLimit, LocalLimit } from "./rate_limit_schema.ts";
import type { BudgetDefinition } from "../../ratelimit/budget/budget.ts";
import { formatUsd, NANO_USD } from "../../base/log/log_text.ts";

/** An entry of `global.descriptors`. */
type Descriptor = GlobalRateLimit["descriptors"][number];

/** An entry of `local` or `global.descriptors`. */
export type BudgetConfig = LocalLimit | Descriptor;

/** Returns the budget that an entry defines. */
export function budgetOf(config: BudgetConfig): BudgetDefinition {
  const { burst = 0, timeZone = "UTC" } = config;
  if (concurrencyOf(config) !== undefined) return concurrencyBudget(config);
  const window = windowUnits[windowUnitOf(config)];
  return {
    ...amountOf(config),
    burst,
    windowMs: window.windowMs,
    ...("calendar" in window &&
      { calendar: { unit: window.calendar, timeZone } }),
    overshoot: "overshoot" in config ? config.overshoot : "Forgive",
    ...(config.reserve === true && { reserves: true }),
    ...(config.whenExceeded === "Warn" && { isSoft: true }),
  };
}

/** Time after which clients may try again; no window ever opens. */
const CONCURRENCY_RETRY_MS = 1000;

function concurrencyBudget(config: BudgetConfig): BudgetDefinition {
  return {
    unit: "concurrentRequests",
    base: concurrencyOf(config) ?? 1,
    burst: 0,
    windowMs: CONCURRENCY_RETRY_MS,
    overshoot: "Forgive",
    ...(config.whenExceeded === "Warn" && { isSoft: true }),
  };
}

function concurrencyOf(config: BudgetConfig): number | undefined {
  return "concurrentRequests" in config ? config.concurrentRequests : undefined;
}

function amountOf(
  { requests, tokens, inputTokens, outputTokens, cost }: BudgetConfig,
): Pick<BudgetDefinition, "unit" | "base"> {
  if (cost !== undefined) {
    return { unit: "usd", base: Math.round(cost.usd * NANO_USD) };
  }
  if (tokens !== undefined) return { unit: "tokens", base: tokens };
  if (inputTokens !== undefined) {
    return { unit: "inputTokens", base: inputTokens };
  }
  if (outputTokens !== undefined) {
    return { unit: "outputTokens", base: outputTokens };
  }
  // The schema requires one of them.
  return { unit: "requests", base: requests ?? 1 };
}

/** Returns the budgets of a `global` block; see `BudgetDefinition.variant`. */
export function budgetsOf(
  descriptors: readonly Descriptor[],
): readonly BudgetDefinition[] {
  const variants = new Map<string, string[]>();
  return descriptors.map((config) => {
    const budget = budgetOf(config);
    const { base, burst, ...shape } = budget;
    const keys = config.entries.map(({ key }) => key);
    const numbers = variants.getOrInsert(JSON.stringify([shape, keys]), []);
    const amount = `${base}+${burst}`;
    if (!numbers.includes(amount)) numbers.push(amount);
    const variant = numbers.indexOf(amount);
    return variant === 0 ? budget : { ...budget, variant };
  });
}

/** Describes the amount of a budget and its window, such as `100 requests per minute`. */
export function describeAmount(config: BudgetConfig): string {
  const { unit, base } = budgetOf(config);
  const name: string = unitNames[unit];
  const amount = unit === "usd"
    ? `${formatUsd(base)} USD`
    : `${base} ${base === 1 ? name.slice(0, -1) : name}`;
  return [amount, ...describeWindow(config)].join(" ");
}

/** Describes what a budget counts, without its numbers, such as `requests per minute`. */
export function describeKind(config: BudgetConfig): string {
  return [unitNames[budgetOf(config).unit], ...describeWindow(config)]
    .join(" ");
}

const unitNames = {
  requests: "requests",
  concurrentRequests: "concurrent requests",
  tokens: "tokens",
  inputTokens: "input tokens",
  outputTokens: "output tokens",
  usd: "cost",
} as const satisfies Record<BudgetDefinition["unit"], string>;

function describeWindow(config: BudgetConfig): readonly string[] {
  const { timeZone } = config;
  if (concurrencyOf(config) !== undefined) return [];
  const window = `per ${windowUnits[windowUnitOf(config)].name}`;
  return [timeZone === undefined ? window : `${window} of ${timeZone}`];
}

function windowUnitOf({ unit, cost }: BudgetConfig): WindowUnit {
  // The schema requires one of them.
  return unit ?? cost?.unit ?? "Seconds";
}
