/** State of a budget in a word and a color. */
import type { UiResponses } from "../../../responses.ts";
import type { Tone } from "../../kit/layout.tsx";

type Budget = UiResponses["budgets"]["budgets"][number];

/** Returns the tone of the remaining share of a budget, and its name. */
export function budgetState(
  { remaining, limit }: Pick<Budget, "remaining" | "limit">,
): { readonly tone: Tone; readonly word: string } | undefined {
  if (remaining === undefined) return undefined;
  const share = remaining / Math.max(limit, 1);
  if (share <= 0) return { tone: "bad", word: "used up" };
  if (share < 0.2) return { tone: "bad", word: "nearly used up" };
  return share < 0.4 ? { tone: "warn", word: "low" } : undefined;
}
