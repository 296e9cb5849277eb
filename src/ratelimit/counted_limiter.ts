import type { Use } from "./budget.ts";
import type { FailureLog } from "./failure_log.ts";
import type {
  DescriptorUse,
  GlobalLimiter,
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

/** Counts the decisions of a limiter and logs its failures. */
export class CountedLimiter implements GlobalLimiter {
  readonly #limiter: GlobalLimiter;
  readonly #log: FailureLog;
  readonly #counts = { admitted: 0, refused: 0, failed: 0 };
  #lastError: unknown;

  constructor(limiter: GlobalLimiter, log: FailureLog) {
    this.#limiter = limiter;
    this.#log = log;
  }

  get counts(): DecisionCounts {
    return { ...this.#counts, lastError: this.#lastError };
  }

  admit(
    uses: readonly DescriptorUse[],
  ): LimiterDecision | Promise<LimiterDecision> {
    const decision = this.#limiter.admit(uses);
    return decision instanceof Promise
      ? decision.then((decided) => this.#count(decided))
      : this.#count(decision);
  }

  debit(uses: readonly DescriptorUse[], use: Use): void {
    this.#limiter.debit(uses, use);
  }

  refund(uses: readonly DescriptorUse[], takenAt: number | undefined): void {
    this.#limiter.refund(uses, takenAt);
  }

  #count(decision: LimiterDecision): LimiterDecision {
    this.#counts[decision.verdict]++;
    this.#lastError = decision.verdict === "failed"
      ? decision.error
      : undefined;
    this.#log.note(this.#lastError);
    return decision;
  }
}
