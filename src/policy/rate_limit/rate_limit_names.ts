import type { GlobalRateLimit, LocalLimit } from "./rate_limit_schema.ts";
import type { Hide } from "../../base/redaction.ts";
import type { BudgetDefinition } from "../../ratelimit/budget.ts";
import {
  type BudgetConfig,
  budgetOf,
  windowUnits,
} from "./rate_limit_budget.ts";

/** Describes a local limit: `100 requests per minute, burst 20, by jwt.sub`. */
export function describeLimit(
  config: LocalLimit,
  hide: Hide = showAll,
): string {
  const parts = partsOf(config);
  if (config.overshoot === "Carry") parts.push("overshoot carried");
  if (config.key !== undefined) parts.push(`by ${hide(config.key)}`);
  if (config.when !== undefined) parts.push(`when ${hide(config.when)}`);
  return parts.join(", ");
}

/**
 * Describes global limits: `100 requests per minute, by user`. Equal descriptions of a domain are numbered, although equal values
 * share a budget.
 */
export function nameDescriptors(
  { descriptors }: Pick<GlobalRateLimit, "descriptors">,
  hide: Hide,
): readonly string[] {
  const names = new LimitNames();
  return descriptors.map((each) => names.add(describeDescriptor(each, hide)));
}

function describeDescriptor(
  config: GlobalRateLimit["descriptors"][number],
  hide: Hide,
): string {
  const keys = config.entries.map(({ key }) => hide(key));
  return [...partsOf(config), `by ${keys.join(" and ")}`].join(", ");
}

/** Makes names of limits unique by numbering: the second with the same description is `… (2)`. */
export class LimitNames {
  readonly #seen = new Map<string, number>();

  /** @param scope Within which the name is unique. */
  add(words: string, scope = ""): string {
    const key = `${scope} ${words}`;
    const count = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.set(key, count);
    return count === 1 ? words : `${words} (${count})`;
  }
}

function showAll(text: string): string {
  return text;
}

function describeAmount(
  amount: number,
  unit: BudgetDefinition["unit"],
  window: string,
): string {
  return `${amount} ${amount === 1 ? unit.slice(0, -1) : unit} per ${window}`;
}

function partsOf(config: BudgetConfig): string[] {
  const { unit, base, burst } = budgetOf(config);
  const amount = describeAmount(base, unit, windowUnits[config.unit].name);
  return burst > 0 ? [amount, `burst ${burst}`] : [amount];
}
