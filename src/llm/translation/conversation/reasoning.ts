import {
  type ChatRequest,
  type Effort,
  efforts,
  type Reasoning,
  type Turn,
} from "./conversation.ts";
import type { ClaudeFacts } from "./model_facts.ts";

/** Tokens for reasoning by effort, as Google's own translation has them; the most that every model accepts. */
const tokensOf: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};

/** Reads a value of an effort; `undefined` for unknown ones. */
export function readEffort(value: string | undefined): Effort | undefined {
  return efforts.find((effort) => effort === value);
}

/** Returns the number of tokens for reasoning. */
export function tokensFor({ tokens, effort = "medium" }: Reasoning): number {
  return tokens ?? tokensOf[effort];
}

/** Returns the effort of reasoning. */
export function effortFor({ tokens, effort }: Reasoning): Effort {
  if (effort !== undefined) return effort;
  if (tokens === 0) return "none";
  if (tokens === undefined || tokens > 8192) return "high";
  return tokens <= 2048 ? "low" : "medium";
}

/** Returns the accepted effort that is nearest to the wanted one, rather less than more; `undefined` when none is. */
export function nearestEffort(
  wanted: Effort,
  accepted: readonly Effort[],
): Effort | undefined {
  const rank = efforts.indexOf(wanted);
  const below = efforts.slice(0, rank + 1).findLast((each) =>
    accepted.includes(each) && (each !== "none" || wanted === "none")
  );
  return below ?? efforts.slice(rank).find((each) => accepted.includes(each));
}

/** The least that Claude can be given to think. */
const MIN_THINKING_TOKENS = 1024;
/** Share of a limit that thinking may use where it wants all of it; the rest is for the answer. */
const THINKING_SHARE = 0.8;

/** Settings for the reasoning of a model of Anthropic. */
export interface ClaudeReasoning {
  readonly thinking?: {
    readonly type: "enabled" | "disabled" | "adaptive";
    readonly budget_tokens?: number;
  };
  readonly effort?: Effort;
  /** Tokens of the budget; 0 without one. */
  readonly budget: number;
  /** The wish could not be carried over as it is. */
  readonly isChanged: boolean;
}

/** Translates reasoning to what a model of Anthropic accepts. */
export function claudeReasoning(
  { reasoning, maxTokens, turns }: ChatRequest,
  toolChoice: ChatRequest["toolChoice"],
  { adaptive, budget: hasBudget, efforts: accepted = [] }: ClaudeFacts,
): ClaudeReasoning {
  if (reasoning === undefined) return { budget: 0, isChanged: false };
  const wanted = effortFor(reasoning);
  if (wanted === "none") {
    const thinking = { type: "disabled" } as const;
    return { thinking, budget: 0, isChanged: false };
  }
  const effort = nearestEffort(wanted, accepted);
  const own = {
    ...(effort !== undefined && reasoning.effort !== undefined && { effort }),
    isChanged: accepted.length > 0 && reasoning.effort !== undefined &&
      effort !== wanted,
  };
  if (adaptive) return { ...own, thinking: { type: "adaptive" }, budget: 0 };
  const isForced = typeof toolChoice === "object" || toolChoice === "required";
  const tokens = thinkingBudget(tokensFor(reasoning), maxTokens);
  const cannot = isForced || tokens === undefined || !hasBudget;
  if (cannot || lacksReasoning(turns)) {
    return { ...own, budget: 0, isChanged: true };
  }
  return {
    ...own,
    thinking: { type: "enabled", budget_tokens: tokens },
    budget: tokens,
  };
}

/** Reports whether the calls that the model waits for were made without reasoning, or by a client that has left it out: Claude cannot begin to think then. */
function lacksReasoning(turns: readonly Turn[]): boolean {
  const calls = turns.at(-1)?.parts.some(({ type }) => type === "toolResult")
    ? turns.findLast(({ role }) => role === "assistant")
    : undefined;
  return calls !== undefined &&
    !calls.parts.some((part) =>
      part.type === "thinking" && part.signature !== ""
    );
}

/**
 * Returns the tokens that Claude may think: as many as the request wants, below the limit of its output, which holds for both;
 * `undefined` when that leaves too few to think at all.
 */
function thinkingBudget(
  wanted: number,
  maxTokens: number | undefined,
): number | undefined {
  const least = Math.max(MIN_THINKING_TOKENS, wanted);
  if (maxTokens === undefined || least < maxTokens) return least;
  if (maxTokens <= MIN_THINKING_TOKENS) return undefined;
  return Math.max(MIN_THINKING_TOKENS, Math.floor(maxTokens * THINKING_SHARE));
}
