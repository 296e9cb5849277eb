import { estimateInput } from "../../llm/request/input_estimate.ts";
import { addUsage, type TokenUsage } from "../../llm/usage/token_usage.ts";
import { UsageTracker } from "../../llm/usage/usage_tracker.ts";
import type { Exchange } from "../exchange/exchange.ts";
import {
  type MeterOptions,
  priceHostOf,
  priceUsage,
} from "../metering/meter/usage_meter.ts";
import { modelAt } from "./model_states.ts";

/** Accounts for attempts whose answers nobody gets: the provider bills them all the same. */
export interface DiscardedUse {
  /** Prices of models. */
  readonly prices: MeterOptions["prices"];
  /** Receives what an attempt used. */
  readonly onDiscarded: (attempt: Exchange, usage: TokenUsage) => void;
}

/** Records what an attempt used; budgets are charged for it with the use of the answer. */
export function discardUse(
  attempt: Exchange,
  usage: TokenUsage,
  { prices, onDiscarded }: DiscardedUse,
): void {
  const { discarded, routed: { backend } } = attempt;
  if (backend === undefined || !prices.isLoaded) return;
  const used = priceUsage({ prices, priceHost: priceHostOf(backend) }, usage);
  discarded.usage = addUsage(discarded.usage, used);
  onDiscarded(attempt, used);
}

/** Estimates what an attempt used that was cancelled before its response: the input. */
export function estimateLost(
  { meter, routed: { backend } }: Exchange,
  body: Uint8Array,
  requestedModel: string | undefined,
): TokenUsage | undefined {
  if (meter === undefined || backend === undefined) return undefined;
  const usage = new UsageTracker(meter.api).estimate(estimateInput(body));
  const responseModel = modelAt(backend, requestedModel) ?? requestedModel;
  return { ...usage, responseModel };
}
