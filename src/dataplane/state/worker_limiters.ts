import { noUse, type Use } from "../../ratelimit/budget/budget.ts";
import type {
  DescriptorUse,
  HeldUse,
  LimiterDecision,
} from "../../ratelimit/limiter/global_limiter.ts";
import type {
  GlobalLimiters,
  LimiterLease,
} from "../../ratelimit/global_limiters.ts";
import type { CallHandlers } from "./channel.ts";
import type { StateCalls } from "./state_calls.ts";

/** Reservation of a request of the worker. */
interface Hold {
  readonly place: string;
  readonly uses: readonly DescriptorUse[];
  readonly held: HeldUse;
}

/** Limiters over Deno KV as one worker uses them; knows what its requests hold, to free that when the worker ends. */
export class WorkerLimiters {
  readonly #limiters: GlobalLimiters;
  readonly #leases = new Map<number, LimiterLease>();
  /** By `keyOf`: equal ones of one moment are several. */
  readonly #holds = new Map<string, Hold[]>();
  #isEnded = false;

  constructor(limiters: GlobalLimiters) {
    this.#limiters = limiters;
  }

  /** Handlers of the calls of the worker. */
  readonly handlers = {
    useLimiter: (lease, place, limits) => {
      this.#leases.getOrInsertComputed(lease, () => this.#limiters.lease())
        .limiter(place, limits);
    },
    releaseLimiters: (lease) => {
      this.#leases.get(lease)?.release();
      this.#leases.delete(lease);
    },
    openLimiters: () => this.#limiters.open(),
    admit: (place, uses, expected) => this.#admit(place, uses, expected),
    debit: (place, uses, use, held) =>
      this.#limiters.find(place)?.debit(
        uses,
        use,
        held && this.#forget({ place, uses, held }),
      ),
    refund: (place, uses, held) =>
      this.#limiters.find(place)?.refund(
        uses,
        this.#forget({ place, uses, held }),
      ),
  } satisfies Partial<CallHandlers<StateCalls>>;

  /** Frees what the worker used; called when it has ended. */
  end(): void {
    this.#isEnded = true;
    const holds = [...this.#holds.values()].flat();
    this.#holds.clear();
    for (const hold of holds) this.#free(hold);
    for (const lease of this.#leases.values()) lease.release();
  }

  async #admit(
    place: string,
    uses: readonly DescriptorUse[],
    expected: Use = noUse,
  ): Promise<LimiterDecision> {
    const limiter = this.#limiters.find(place);
    if (limiter === undefined) return closedLimiter;
    const decision = await limiter.admit(uses, expected);
    if (decision.verdict === "admitted" && expected !== noUse) {
      const held = { takenAt: decision.takenAt, expected };
      this.#remember({ place, uses, held });
    }
    return decision;
  }

  #remember(hold: Hold): void {
    if (!hold.uses.some(reserves)) return;
    if (this.#isEnded) this.#free(hold);
    else this.#holds.getOrInsertComputed(keyOf(hold), () => []).push(hold);
  }

  /** Returns what is still held: nothing of a worker that has ended. */
  #forget(hold: Hold): HeldUse {
    const { held, uses } = hold;
    if (!uses.some(reserves)) return held;
    const key = keyOf(hold);
    const equal = this.#holds.get(key) ?? [];
    const isHeld = equal.pop() !== undefined;
    if (equal.length === 0) this.#holds.delete(key);
    return isHeld ? held : { takenAt: held.takenAt };
  }

  #free({ place, uses, held }: Hold): void {
    this.#limiters.find(place)?.debit(uses, noUse, held);
  }
}

function reserves({ budget }: DescriptorUse): boolean {
  return budget.reserves === true && budget.isSoft !== true;
}

/** Budgets that hold nothing do not matter: those of a connection are not asked again for its next part. */
function keyOf({ place, uses, held }: Hold): string {
  const { takenAt, expected } = held;
  const reserving = uses.filter(reserves).map(({ index, entries }) =>
    [index, entries] as const
  );
  return JSON.stringify([place, takenAt, expected, reserving]);
}

const closedLimiter = {
  verdict: "failed",
  error: new Error("Cannot read a global budget: the limiter is closed"),
} as const;
