import type { GlobalRateLimit, LocalLimit } from "./rate_limit_schema.ts";
import type { Hide } from "../../base/redaction.ts";
import {
  type BudgetConfig,
  describeAmount,
  describeKind,
} from "./rate_limit_budget.ts";

/** Describes a local limit: `100 requests per minute, burst 20, by jwt.sub`. */
export function describeLimit(config: LocalLimit, hide: Hide): string {
  return [...partsOf(config), ...conditionsOf(config, hide)].join(", ");
}

/** Describes what a local limit counts, without its numbers and with secrets. */
export function describeLimitKind(config: LocalLimit): string {
  return [describeKind(config), ...conditionsOf(config, (text) => text)]
    .join(", ");
}

function conditionsOf(
  { overshoot, reserve, key, when, weight }: LocalLimit,
  hide: Hide,
): readonly string[] {
  return [
    ...(overshoot === "Carry" ? ["overshoot carried"] : []),
    ...(reserve === true ? ["reserved"] : []),
    ...(key === undefined ? [] : [`by ${hide(key)}`]),
    ...(when === undefined ? [] : [`when ${hide(when)}`]),
    ...(weight === undefined ? [] : [`each of weight ${hide(weight)}`]),
  ];
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
  const reserved = config.reserve === true ? ["reserved"] : [];
  return [...partsOf(config), ...reserved, `by ${keys.join(" and ")}`]
    .join(", ");
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

function partsOf(config: BudgetConfig): string[] {
  const { burst = 0 } = config;
  return [
    describeAmount(config),
    ...(burst > 0 ? [`burst ${burst}`] : []),
    ...(config.whenExceeded === "Warn" ? ["only warns"] : []),
  ];
}
