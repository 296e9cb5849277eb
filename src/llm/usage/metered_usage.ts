import type { Cost, ServedModel } from "../cost/price_book.ts";
import { addUsage, type TokenUsage } from "./token_usage.ts";

/** Tokens that a request used, and what they cost. */
export interface MeteredUsage extends TokenUsage {
  readonly cost: Cost;
  /** Price list entry that the cost is from. */
  readonly served: ServedModel;
}

/** Adds what a response used to what earlier ones did, if any; the model is that of the later one. */
export function addMeteredUsage(
  earlier: MeteredUsage | undefined,
  later: MeteredUsage,
): MeteredUsage {
  if (earlier === undefined) return later;
  return {
    ...addUsage(earlier, later),
    served: later.served,
    cost: {
      nanoUsd: earlier.cost.nanoUsd + later.cost.nanoUsd,
      isKnown: earlier.cost.isKnown && later.cost.isKnown,
    },
  };
}

/** Counts the tokens of a response while it is read. */
export interface ResponseUsage {
  /** Set once the response was read. */
  readonly usage: MeteredUsage | undefined;
  /** Pending while a response that was read is decoded. */
  readonly counting: Promise<void> | undefined;
}
