import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log/log.ts";
import type { Use } from "../budget/budget.ts";
import type { LimitSelection } from "../local/counter_store.ts";
import {
  DescriptorCounters,
  type DescriptorCounts,
} from "./descriptor_counts.ts";
import { FailureLog } from "./failure_log.ts";
import type {
  DescriptorUse,
  ExchangeCounts,
  GlobalLimit,
  GlobalLimiter,
  GlobalLimitReading,
  HeldUse,
  LimiterDecision,
  LimiterStatus,
  StoreLimiter,
} from "./global_limiter.ts";

/** Decisions of a limiter since it was created. */
interface DecisionCounts {
  readonly admitted: number;
  readonly refused: number;
  /** Requests that it could not decide. */
  readonly failed: number;
}

/** Interval at which a limiter that failed is tried, so that a failure does not seem to last without requests. */
const PROBE_MS = 5000;

/** Counts of a limiter, as metrics show them. */
export interface LimiterCounts
  extends LimiterStatus, ExchangeCounts, DecisionCounts {
  /** By limit. */
  readonly limits: readonly DescriptorCounts[];
}

/** Counts the decisions of a limiter and logs its failures. */
export class CountedLimiter implements GlobalLimiter {
  readonly #limiter: StoreLimiter;
  readonly #clock: Clock;
  readonly #log: FailureLog;
  /** The same by limit, and what requests used. */
  readonly #limits = new DescriptorCounters();
  readonly #counts = { admitted: 0, refused: 0, failed: 0 };
  #lastError: unknown;
  #cancelProbe: (() => void) | undefined;
  #isClosed = false;

  constructor(
    limiter: StoreLimiter,
    options: { readonly log: Log; readonly clock: Clock },
  ) {
    const { domain, storeName: store } = limiter;
    this.#limiter = limiter;
    this.#clock = options.clock;
    this.#log = new FailureLog(options, { domain, store });
  }

  /** Rejects when the store or service cannot be reached now. */
  open(): Promise<void> {
    return this.#limiter.open();
  }

  /** Ends the probes; returns leases and settles pending charges. Takes at most two seconds. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelProbe?.();
    return this.#limiter.close();
  }

  get status(): LimiterStatus {
    const { domain, storeName: store, storeError, connection } = this.#limiter;
    const failure = storeError ?? this.#lastError;
    return {
      domain,
      store,
      state: connection ?? (failure === undefined ? "ready" : "failing"),
      lastError: failure === undefined ? undefined : describeError(failure),
    };
  }

  describe(limits: readonly GlobalLimit[]): readonly GlobalLimitReading[] {
    const { status } = this;
    return this.#limiter.readLimits(limits).map((each) => ({
      ...status,
      ...each,
    }));
  }

  /** See `StoreLimiter.reset`. */
  reset(
    limits: readonly GlobalLimit[],
    selection: LimitSelection,
  ): Promise<number> {
    return this.#limiter.reset(limits, selection);
  }

  count(limits: readonly GlobalLimit[]): LimiterCounts {
    return {
      ...this.status,
      ...this.#counts,
      ...this.#limiter.exchanges,
      limits: this.#limits.read(limits),
    };
  }

  admit(
    uses: readonly DescriptorUse[],
    expected?: Use,
  ): LimiterDecision | Promise<LimiterDecision> {
    const decision = this.#limiter.admit(uses, expected);
    return decision instanceof Promise
      ? decision.then((decided) => this.#count(decided, uses, expected))
      : this.#count(decision, uses, expected);
  }

  debit(uses: readonly DescriptorUse[], use: Use, held?: HeldUse): void {
    this.#limits.charged(uses, use, held);
    this.#limiter.debit(uses, use, held);
  }

  refund(uses: readonly DescriptorUse[], held: HeldUse): void {
    this.#limits.refunded(uses, held);
    this.#limiter.refund(uses, held);
  }

  #count(
    decision: LimiterDecision,
    uses: readonly DescriptorUse[],
    expected: Use | undefined,
  ): LimiterDecision {
    this.#counts[decision.verdict]++;
    this.#limits.decided(uses, decision, expected);
    const failure = decision.verdict === "failed" ? decision : undefined;
    this.#lastError = failure?.error;
    this.#log.note(failure?.error);
    if (failure !== undefined && failure.isLasting !== true) this.#probeSoon();
    return decision;
  }

  #probeSoon(): void {
    if (this.#isClosed) return;
    this.#cancelProbe ??= this.#clock.setTimer(
      () => void this.#probe(),
      PROBE_MS,
    );
  }

  async #probe(): Promise<void> {
    try {
      await this.#limiter.probe();
      this.#lastError = undefined;
      this.#log.note(undefined);
    } catch {
      // The decision that failed is already in the log.
    }
    this.#cancelProbe = undefined;
    if (this.#lastError !== undefined) this.#probeSoon();
  }
}
