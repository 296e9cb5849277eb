import { noUse, type Use } from "../../../src/ratelimit/budget/budget.ts";

/** Returns a use of so many tokens, all of them input. */
export function tokensUsed(totalTokens: number): Use {
  return { ...noUse, totalTokens, inputTokens: totalTokens };
}
