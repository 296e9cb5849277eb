import type { Use } from "../../../src/ratelimit/budget/budget.ts";

/** Returns a use of so many tokens, all of them input. */
export function tokensUsed(tokens: number): Use {
  return { tokens, inputTokens: tokens, outputTokens: 0, usd: 0 };
}
