import type { Cost, ServedModel } from "../llm/cost/price_book.ts";
import type { TokenUsage } from "../llm/usage/token_usage.ts";

/** Tokens that a request used, and what they cost. */
export interface MeteredUsage extends TokenUsage {
  readonly cost: Cost;
  /** Price list entry that the cost is from. */
  readonly served: ServedModel;
}

/** Counts the tokens of a response while it is read. */
export interface ResponseUsage {
  /** Set once the response was read. */
  readonly usage: MeteredUsage | undefined;
  /** Pending while a response that was read is decoded. */
  readonly counting: Promise<void> | undefined;
}
