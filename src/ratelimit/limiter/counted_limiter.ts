import type { Clock } from "../../base/clock.ts";
import type { Use } from "../budget/budget.ts";
import { DescriptorCounters } from "./descriptor_counts.ts";
import type { FailureLog } from "./failure_log.ts";
import type {
  DescriptorUse,
  GlobalLimiter,
  HeldUse,
  LimiterDecision,
} from "./global_limiter.ts";

/** Decisions of a limiter since it was created. */
export interface DecisionCounts {
  readonly admitted: number;
  readonly refused: number;
  /** Requests that it could not decide. */
  readonly failed: number;
  /** Error of the last decision; `undefined` if it succeeded. */
  readonly lastError: unknown;
}

/** Interval at which a limiter that failed is tried, so that a failure does not seem to last without requests. */
const PROBE_MS = 5000;

/** Dependencies of `CountedLimiter`. */
export interface CountedLimiterOptions {
  readonly log: FailureLog;
  readonly clock: Clock;
  /** Rejects while the store or service cannot be reached. */
  readonly probe: () => Promise<void>;
}

/** Counts the decisions of a limiter and logs its failures. */
export class CountedLimiter implements GlobalLimiter {
  readonly #limiter: GlobalLimiter;
  readonly #options: CountedLimiterOptions;
  /** The same by limit, and what requests used. */
  readonly limits = new DescriptorCounters();
  readonly #counts = { admitted: 0, refused: 0, failed: 0 };
  #lastError: unknown;
  #cancelProbe: (() => void) | undefined;
  #isClosed = false;

  constructor(limiter: GlobalLimiter, options: CountedLimiterOptions) {
    this.#limiter = limiter;
    this.#options = options;
  }

  get counts(): DecisionCounts {
    return { ...this.#counts, lastError: this.#lastError };
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
    this.limits.charged(uses, use, held);
    this.#limiter.debit(uses, use, held);
  }

  refund(uses: readonly DescriptorUse[], held: HeldUse): void {
    this.limits.refunded(uses, held);
    this.#limiter.refund(uses, held);
  }

  /** Ends the probes. */
  close(): void {
    this.#isClosed = true;
    this.#cancelProbe?.();
  }

  #count(
    decision: LimiterDecision,
    uses: readonly DescriptorUse[],
    expected: Use | undefined,
  ): LimiterDecision {
    this.#counts[decision.verdict]++;
    this.limits.decided(uses, decision, expected);
    const failure = decision.verdict === "failed" ? decision : undefined;
    this.#lastError = failure?.error;
    this.#options.log.note(failure?.error);
    if (failure !== undefined && failure.isLasting !== true) this.#probeSoon();
    return decision;
  }

  #probeSoon(): void {
    if (this.#isClosed) return;
    this.#cancelProbe ??= this.#options.clock.setTimer(
      () => void this.#probe(),
      PROBE_MS,
    );
  }

  async #probe(): Promise<void> {
    try {
      await this.#options.probe();
      this.#lastError = undefined;
      this.#options.log.note(undefined);
    } catch {
      // The decision that failed is already in the log.
    }
    this.#cancelProbe = undefined;
    if (this.#lastError !== undefined) this.#probeSoon();
  }
}
