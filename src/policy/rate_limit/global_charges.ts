import { isEnforcedLater, type Use } from "../../ratelimit/budget/budget.ts";
import type {
  DescriptorUse,
  GlobalLimiter,
  HeldUse,
} from "../../ratelimit/limiter/global_limiter.ts";

/** Charges of an admitted request to the budgets of a limiter, and what it holds of them. */
export class GlobalCharges {
  readonly #uses: readonly DescriptorUse[];
  readonly #limiter: GlobalLimiter;
  /** A limiter that fails ends no request. */
  readonly #isOpen: boolean;
  #held: HeldUse | undefined;
  #isEnded = false;

  constructor(
    uses: readonly DescriptorUse[],
    held: HeldUse,
    { limiter, isOpen }: {
      readonly limiter: GlobalLimiter;
      readonly isOpen: boolean;
    },
  ) {
    this.#uses = uses;
    this.#held = held;
    this.#limiter = limiter;
    this.#isOpen = isOpen;
  }

  /** See `GlobalAdmission`; so are the following. */
  settle(use: Use): void {
    this.#isEnded = true;
    this.#charge(use);
  }

  async charge(use: Use, next: Use | undefined): Promise<boolean> {
    this.#charge(use);
    // As a further request that uses no budget of requests.
    const uses = this.#uses.filter(({ budget }) => isEnforcedLater(budget));
    if (next === undefined || uses.length === 0) return false;
    const decision = await this.#limiter.admit(uses, next);
    if (decision.verdict !== "admitted") {
      return decision.verdict === "refused" || !this.#isOpen;
    }
    const held = { takenAt: decision.takenAt, expected: next };
    if (this.#isEnded) this.#limiter.refund(uses, held);
    else this.#held = held;
    return false;
  }

  refund(): void {
    if (this.#held !== undefined) this.#limiter.refund(this.#uses, this.#held);
  }

  #charge(use: Use): void {
    this.#limiter.debit(this.#uses, use, this.#held);
    this.#held = undefined;
  }
}
