import { detectLlmApi, type LlmApi } from "../llm/llm_api.ts";
import type { Cost, ServedModel } from "../llm/cost/price_book.ts";
import type { TokenUsage } from "../llm/usage/token_usage.ts";
import type { PolicyContext } from "./policy.ts";
import { defineSlot } from "./slot.ts";

/** Tokens that a request used, and what they cost. */
export interface MeteredUsage extends TokenUsage {
  readonly cost: Cost;
  /** Price list entry that the cost is from. */
  readonly served: ServedModel;
}

/** Receives what a request used. */
export type UsageListener = (usage: MeteredUsage) => void;

/** Policies that need the token usage of a request. */
export interface UsageListeners {
  /** API of the provider, by the path that the first policy saw; `undefined` when only the response can tell. */
  readonly api: LlmApi | undefined;
  readonly listeners: UsageListener[];
  /** True if the gateway may change the request so that the provider reports its usage. */
  mayRequestUsage: boolean;
}

/** Set by policies that need the token usage, before the request goes upstream. */
export const usageListeners = defineSlot<UsageListeners>("usage");

/**
 * Calls `listener` once, when the response has ended or the client has disconnected; never when there was no usage: no LLM
 * responded, or it returned an error.
 *
 * @param mayRequestUsage False keeps the gateway from changing the request so that the provider reports its usage, whatever other
 * listeners allow.
 */
export function onUsage(
  { slots, request }: PolicyContext,
  listener: UsageListener,
  mayRequestUsage: boolean,
): void {
  const present = slots.get(usageListeners);
  if (present === undefined) {
    const api = detectLlmApi(request.method, request.target);
    slots.set(usageListeners, {
      api,
      listeners: [listener],
      mayRequestUsage,
    });
  } else {
    present.listeners.push(listener);
    present.mayRequestUsage &&= mayRequestUsage;
  }
}
