import type { BudgetDefinition, BudgetReading, Use } from "../budget/budget.ts";

/** A configured descriptor, as far as it is known without a request. */
export interface GlobalLimit {
  /** Such as `100 requests per minute, by user`; values from the environment are hidden. */
  readonly name: string;
  readonly definition: BudgetDefinition;
  /** Keys of the entries, such as `["user"]`. */
  readonly keys: readonly string[];
}

/** A global budget that a request counts against: a configured descriptor with evaluated entries. */
export interface DescriptorUse {
  /** Index in the configured list of descriptors. */
  readonly index: number;
  /** See `GlobalLimit`; counts go by it. */
  readonly name?: string;
  readonly budget: BudgetDefinition;
  /** Evaluated entries, such as `[["user", "anna"]]`. */
  readonly entries: readonly (readonly [key: string, value: string])[];
}

/** Decision of a limiter about a request. */
export type LimiterDecision =
  | LimiterAdmission
  | LimiterRejection
  | LimiterFailure;

/** State of one of the budgets that a request counts against. */
export interface DescriptorReading extends BudgetReading {
  /** Index of its descriptor in the configured list; the first of several with the same budget. */
  readonly index: number;
}

/** Additions of the limiter to messages. */
interface Additions {
  /** One for each budget whose state the limiter knows, in no particular order. */
  readonly readings: readonly DescriptorReading[];
  readonly responseHeaders?: readonly (readonly [string, string])[];
}

/** The request may proceed; request budgets are already charged. */
export interface LimiterAdmission extends Additions {
  readonly verdict: "admitted";
  /** Monotonic time of the charge, if it can be refunded. */
  readonly takenAt?: number;
  /** For the upstream request. */
  readonly requestHeaders?: readonly (readonly [string, string])[];
}

/** A budget is exhausted; nothing was charged. */
export interface LimiterRejection extends Additions {
  readonly verdict: "refused";
  /** The exhausted budget, if the limiter knows it. */
  readonly refusedBy: DescriptorReading | undefined;
  /** Amount that the request may use of a budget that reserves it, in the unit of that budget; set if less is left. */
  readonly needed?: number;
  /** Body of the 429; the default text if `undefined` or empty. */
  readonly body?: Uint8Array | undefined;
}

/** The limiter could not decide; the failure mode of the policy does. */
export interface LimiterFailure {
  readonly verdict: "failed";
  /** For log and trace. */
  readonly error: unknown;
  /** The limiter can be reached: only another configuration of the service ends the failure. */
  readonly isLasting?: boolean;
}

/** Charges of an admission. */
export interface HeldUse {
  /** Monotonic time of the charge; `undefined` if it cannot be refunded. */
  readonly takenAt: number | undefined;
  /** Most that the request was expected to use; nothing by default. */
  readonly expected?: Use;
}

/** Budgets shared by several processes. Never throws, never rejects. */
export interface GlobalLimiter {
  /**
   * Decides about all descriptors at once: checks every budget before it charges any. Request budgets are charged 1; token budgets
   * admit while something is left and are charged by `debit`. Those that reserve hold what is expected until then. Returns no promise
   * if there is nothing to wait for.
   */
  admit(
    uses: readonly DescriptorUse[],
    expected?: Use,
  ): LimiterDecision | Promise<LimiterDecision>;
  /** Charges what an admitted request used to its budgets other than those of requests, in place of what they held. */
  debit(uses: readonly DescriptorUse[], use: Use, held?: HeldUse): void;
  /**
   * Refunds the charges for a request that another limit then rejected, unless their windows are over. Does nothing if the limiter
   * cannot refund.
   */
  refund(uses: readonly DescriptorUse[], held: HeldUse): void;
}
