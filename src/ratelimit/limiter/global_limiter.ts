import type { BudgetDefinition, BudgetReading, Use } from "../budget/budget.ts";
import type { LimitSelection } from "../local/counter_store.ts";

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
  /** Whose budget it is, such as `team blue`. No configured limit describes such a budget: it is described by itself. */
  readonly owner?: string;
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

/** Identity and availability of a limiter. */
export interface LimiterStatus {
  readonly domain: string;
  /** `KV`, or the address of a service such as `ratelimit:8081`. */
  readonly store: string;
  /** `ready`, `failing`, or another state of the connection to a service. */
  readonly state: string;
  /** Error of the last decision; `undefined` if it succeeded. */
  readonly lastError: string | undefined;
}

/**
 * A global limit as `/config_dump` shows it: of several keys, the budget with the least left. Fields that this process does not know
 * are missing: only the service knows them, or no key was read from the store yet.
 */
export interface GlobalLimitReading
  extends
    LimiterStatus,
    Pick<BudgetReading, "unit" | "limit" | "windowMs">,
    Partial<Pick<BudgetReading, "remaining" | "resetMs">> {
  readonly name: string;
  /** See `DescriptorUse`. */
  readonly owner?: string;
  /** Used in the current window; set for budgets with an owner. */
  readonly used?: number;
  /** Keys whose budgets this process knows. */
  readonly keys?: number;
  /** Held for requests of this process in progress, over all keys, by limits that reserve. */
  readonly held?: number;
  /** Requests that this process can admit without contacting the store, over all keys. */
  readonly leased?: number;
  /** Tokens or US dollars not yet visible to other processes, over all keys. */
  readonly pending?: number;
}

/** Facts of a limit itself, without the limiter. */
export type LimitState = Omit<GlobalLimitReading, keyof LimiterStatus>;

/** Exchanges of a limiter with its store or service since it was created. */
export interface ExchangeCounts {
  /** Requests that waited for a decision. */
  readonly waits: number;
  /** Exchanges with the store or the service, by result. */
  readonly exchanges: Readonly<Record<string, number>>;
  /** Tokens that were used and not counted. */
  readonly lostTokens: number;
}

/** A limiter over a store or a service, with its lifecycle. */
export interface StoreLimiter extends GlobalLimiter {
  readonly domain: string;
  /** `KV`, or the address of a service. */
  readonly storeName: string;
  /** State of the connection; `undefined` where errors alone tell it. */
  readonly connection?: string;
  /** Error of the store; `undefined` while it works. */
  readonly storeError?: unknown;
  readonly exchanges: ExchangeCounts;
  /** Rejects when the store or service cannot be reached now; it is retried on demand. */
  open(): Promise<void>;
  /** Rejects while the store or service cannot be reached. */
  probe(): Promise<void>;
  /** Returns leases and settles pending charges. Takes at most two seconds. */
  close(): Promise<void>;
  /** Describes limits, in their order, then budgets with an owner. */
  readLimits(limits: readonly GlobalLimit[]): readonly LimitState[];
  /**
   * Makes budgets unused, as far as this process knows them; returns how many. Services reset theirs.
   * @param limits Those that the selection may concern, besides budgets with an owner.
   */
  reset(
    limits: readonly GlobalLimit[],
    selection: LimitSelection,
  ): Promise<number>;
}
