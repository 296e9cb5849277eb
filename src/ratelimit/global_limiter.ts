import type { BudgetDefinition, BudgetReading } from "./budget.ts";

/** One global budget that a request counts against: which of the configured descriptors, and whose. */
export interface DescriptorUse {
  /** Place in the configured list of descriptors. */
  readonly index: number;
  readonly budget: BudgetDefinition;
  /** Evaluated entries, such as `[["user", "anna"]]`. */
  readonly entries: readonly (readonly [key: string, value: string])[];
}

/** What a limiter says of a request. */
export type LimiterDecision =
  | LimiterAdmission
  | LimiterRefusal
  | LimiterFailure;

/** What is left of one of the budgets that a request counts against. */
export interface DescriptorReading extends BudgetReading {
  /** Place of its descriptor in the configured list; of several that come to the same budget, the first. */
  readonly index: number;
}

/** What the limiter adds to messages; all optional. */
interface Additions {
  /** One for each budget that the limiter knows the state of, in no particular order. */
  readonly readings: readonly DescriptorReading[];
  readonly responseHeaders?: readonly (readonly [string, string])[];
}

/** The request may go on; budgets of requests are charged already. */
export interface LimiterAdmission extends Additions {
  readonly verdict: "admitted";
  /** Monotonic time at which it was charged, where that can be given back. */
  readonly takenAt?: number;
  /** For the upstream request. */
  readonly requestHeaders?: readonly (readonly [string, string])[];
}

/** A budget is exhausted; nothing was charged. */
export interface LimiterRefusal extends Additions {
  readonly verdict: "refused";
  /** The budget that refused, when the limiter knows it. */
  readonly refusedBy: DescriptorReading | undefined;
  /** Body of the 429; the usual text when `undefined` or empty. */
  readonly body?: Uint8Array | undefined;
}

/** The limiter cannot say; the failure mode of the policy decides. */
export interface LimiterFailure {
  readonly verdict: "failed";
  /** For log and trace. */
  readonly error: unknown;
}

/** Budgets shared by several processes. Never throws, never rejects. */
export interface GlobalLimiter {
  /**
   * Decides over all descriptors at once: every budget is checked before any is charged. Budgets of requests are charged 1, those of
   * tokens admit while something is left and are charged by `debit`. Answers without a promise when it has nothing to wait for.
   */
  admit(
    uses: readonly DescriptorUse[],
  ): LimiterDecision | Promise<LimiterDecision>;
  /** Charges the tokens that an admitted request turned out to use to its token budgets. */
  debit(uses: readonly DescriptorUse[], tokens: number): void;
  /**
   * Gives back what was charged at `takenAt` for a request that another limit refused after all, unless its window is over; does
   * nothing where that is not possible.
   */
  refund(uses: readonly DescriptorUse[], takenAt: number | undefined): void;
}
