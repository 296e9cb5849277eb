import {
  amountOf,
  heldBy,
  noUse,
  shownAmount,
  type Use,
} from "../budget/budget.ts";
import type {
  DescriptorUse,
  GlobalLimit,
  HeldUse,
  LimiterDecision,
} from "./global_limiter.ts";

/** Decisions about a global limit in this process, and what its requests used, over all keys. */
export interface DescriptorCounts {
  readonly name: string;
  readonly unit: GlobalLimit["definition"]["unit"];
  readonly admitted: number;
  readonly refused: number;
  /** Tokens or US dollars charged. */
  readonly charged: number;
  /** Held for requests in progress; `undefined` for limits that hold nothing. */
  readonly held: number | undefined;
}

interface Counters {
  admitted: number;
  refused: number;
  charged: number;
  held: number;
}

const none: Readonly<Counters> = {
  admitted: 0,
  refused: 0,
  charged: 0,
  held: 0,
};

/** Counts what a limiter does, by limit. */
export class DescriptorCounters {
  readonly #byName = new Map<string, Counters>();

  /** Counts a decision: an admission for all limits of the request, a rejection for the one that is used up. */
  decided(
    uses: readonly DescriptorUse[],
    decision: LimiterDecision,
    expected: Use = noUse,
  ): void {
    if (decision.verdict === "refused") {
      const index = decision.refusedBy?.index;
      const use = uses.find((each) => each.index === index);
      if (use !== undefined) this.#of(use).refused++;
    } else if (decision.verdict === "admitted") {
      for (const use of uses) this.#of(use).admitted++;
      this.#hold(uses, { takenAt: decision.takenAt, expected }, 1);
    }
  }

  /** Ends what a request held, and counts what it used. */
  charged(uses: readonly DescriptorUse[], use: Use, held?: HeldUse): void {
    for (const each of uses) {
      const amount = amountOf(each.budget.unit, use);
      if (amount > 0) this.#of(each).charged += amount;
    }
    if (held !== undefined) this.#hold(uses, held, -1);
  }

  /** Ends what a request held that another limit has rejected; this one has admitted it. */
  refunded(uses: readonly DescriptorUse[], held: HeldUse): void {
    this.#hold(uses, held, -1);
  }

  /** Returns the counts of these limits, and forgets others. */
  read(limits: readonly GlobalLimit[]): readonly DescriptorCounts[] {
    const inUse = new Map(limits.map((limit) => [limit.name, limit]));
    for (const name of this.#byName.keys()) {
      if (!inUse.has(name)) this.#byName.delete(name);
    }
    return [...inUse.values()].map(({ name, definition }) => {
      const { unit, reserves } = definition;
      const counters = this.#byName.get(name) ?? none;
      return {
        name,
        unit,
        admitted: counters.admitted,
        refused: counters.refused,
        charged: shownAmount(unit, counters.charged),
        held: reserves === true
          ? shownAmount(unit, Math.max(0, counters.held))
          : undefined,
      };
    });
  }

  #hold(
    uses: readonly DescriptorUse[],
    { takenAt, expected = noUse }: HeldUse,
    sign: 1 | -1,
  ): void {
    if (takenAt === undefined) return;
    for (const use of uses) {
      const { budget } = use;
      if (budget.reserves !== true || budget.isSoft === true) continue;
      this.#of(use).held += sign * heldBy(budget, expected);
    }
  }

  #of({ name, index }: DescriptorUse): Counters {
    return this.#byName.getOrInsertComputed(
      name ?? `descriptor ${index}`,
      () => ({ ...none }),
    );
  }
}
