import type { GlobalRateLimit, LocalLimit } from "./rate_limit_schema.ts";
import type { BudgetDefinition } from "../../ratelimit/budget.ts";

/** An entry of `local` or `global.descriptors`. */
export type BudgetConfig = LocalLimit | GlobalRateLimit["descriptors"][number];

/** Length and name of a window, by unit of the configuration. */
export const windowUnits = {
  Seconds: { windowMs: 1000, name: "second" },
  Minutes: { windowMs: 60_000, name: "minute" },
  Hours: { windowMs: 3_600_000, name: "hour" },
} as const;

/** Returns the budget that an entry defines. */
export function budgetOf(config: BudgetConfig): BudgetDefinition {
  const { requests, tokens, unit, burst = 0 } = config;
  return {
    unit: tokens === undefined ? "requests" : "tokens",
    // The schema requires one of them.
    base: tokens ?? requests ?? 1,
    burst,
    windowMs: windowUnits[unit].windowMs,
    overshoot: "overshoot" in config ? config.overshoot : "Forgive",
  };
}
