import { detectLlmApi, type LlmApi } from "../../llm/llm_api.ts";
import type { TokenUsage } from "../../llm/usage/token_usage.ts";
import type { PolicyContext } from "./policy.ts";
import { defineSlot } from "./slot.ts";

/** Counts what a request used. */
export interface UsageListener {
  /**
   * Called once, when the response has ended or the client has disconnected; never when there was no usage: no LLM responded, or it
   * returned an error.
   */
  settle(usage: TokenUsage): void;
  /**
   * Called in place of `settle` with each part of what a connection uses, as soon as it is known; returns whether the connection has
   * to end, because a budget is used up.
   * @param next Most that the next part is expected to use; `undefined` for the last one.
   */
  charge(
    usage: TokenUsage,
    next: TokenUsage | undefined,
  ): boolean | Promise<boolean>;
}

/** Ways to learn what a request used. */
export interface UsageRules {
  /** Changes the request so that the provider reports its usage. */
  readonly mayRequestUsage: boolean;
  /** Reads a response to its end when its client leaves. */
  readonly drains: boolean;
  /** Rejects requests whose usage cannot be known. */
  readonly deniesUnknown: boolean;
}

/** Policies that need the token usage of a request. */
export interface UsageListeners {
  /** API of the provider, by the path that the first policy saw; `undefined` when only the response can tell. */
  readonly api: LlmApi | undefined;
  readonly listeners: UsageListener[];
  rules: UsageRules;
}

/** Set by policies that need the token usage, before the request goes upstream. */
export const usageListeners = defineSlot<UsageListeners>("usage");

/**
 * Calls `listener` with what the request used.
 * @param rules What all listeners allow applies, and what one of them denies.
 */
export function onUsage(
  { slots, request }: PolicyContext,
  listener: UsageListener,
  rules: UsageRules,
): void {
  const present = slots.get(usageListeners);
  if (present === undefined) {
    const api = detectLlmApi(request.method, request.target);
    slots.set(usageListeners, { api, listeners: [listener], rules });
    return;
  }
  const others = present.rules;
  present.listeners.push(listener);
  present.rules = {
    mayRequestUsage: others.mayRequestUsage && rules.mayRequestUsage,
    drains: others.drains && rules.drains,
    deniesUnknown: others.deniesUnknown || rules.deniesUnknown,
  };
}

/** Callbacks for the end of a request. */
export const endListeners = defineSlot<(() => void)[]>("end");

/** Calls `listener` once, when the response has been delivered or given up, and nothing more is read from the backend. */
export function onEnd({ slots }: PolicyContext, listener: () => void): void {
  const present = slots.get(endListeners);
  if (present === undefined) slots.set(endListeners, [listener]);
  else present.push(listener);
}
