import {
  type BudgetReading,
  heldBy,
  noUse,
  type Use,
} from "../budget/budget.ts";
import {
  allows,
  type BudgetWindow,
  charge,
  checkedAmount,
  readWindow,
  refund,
  take,
  waitMs,
  type WindowRules,
} from "../budget/budget_window.ts";
import type { CountName } from "./budget_table.ts";
import type { Budget, Limit } from "./counter_store.ts";

/** Limit of a budget. All but `time` needs the limit to be locked. */
export interface BudgetOwner<Key> extends Limit, WindowRules {
  readonly definition: Limit["definition"];
  /** Converts monotonic time of this thread to that of the windows. */
  time(now: number): number;
  /** Returns the settled window of a key, which becomes the most recent one; valid until the next call. */
  use(key: Key | undefined, time: number): BudgetWindow;
  /** Returns the settled window of a key, or an unused one for a key that is not there; valid until the next call. */
  peek(key: Key | undefined, time: number): BudgetWindow;
  count(name: CountName, by: number): void;
}

/** Budget of a key. Each call locks the limit. */
export class KeyBudget<Key> implements Budget {
  readonly limit: BudgetOwner<Key>;
  readonly weight: number;
  readonly #key: Key | undefined;

  /**
   * @param key `undefined` for a limit without keys.
   * @param weight See `Limit.budget`.
   */
  constructor(limit: BudgetOwner<Key>, key: Key | undefined, weight = 1) {
    this.limit = limit;
    this.#key = key;
    this.weight = weight;
  }

  allows(now: number, expected = noUse): boolean {
    return this.#with(
      "use",
      now,
      (window) => allows(window, this.limit, expected, this.weight),
    );
  }

  take(now: number, expected = noUse): void {
    this.#with("use", now, (window, time) => {
      take(window, this.limit, time, expected, this.weight);
      this.limit.count("admitted", 1);
    });
  }

  hold(expected: Use, now: number): void {
    const held = heldBy(this.limit.definition, expected);
    if (held > 0) this.#with("use", now, (window) => window.addHeld(held));
  }

  release(expected: Use, now: number): void {
    const held = heldBy(this.limit.definition, expected);
    if (held > 0) this.#with("peek", now, (window) => window.addHeld(-held));
  }

  reject(): void {
    this.limit.lock();
    this.limit.count("refused", 1);
    this.limit.unlock();
  }

  debit(use: Use, now: number): void {
    const { definition } = this.limit;
    const amount = checkedAmount(definition.unit, use);
    if (amount === 0) return;
    this.#with("use", now, (window, time) => {
      charge(window, definition, amount, time);
      this.limit.count("charged", amount);
    });
  }

  refund(takenAt: number, now: number): void {
    const { limit } = this;
    this.#with("peek", now, (window) => {
      limit.count("admitted", -1);
      refund(window, limit, limit.time(takenAt), this.weight);
    });
  }

  read(now: number): BudgetReading {
    return this.#with(
      "peek",
      now,
      (window, time) => readWindow(window, this.limit, since(window, time)),
    );
  }

  waitMs(now: number, expected = noUse): number {
    return this.#with(
      "peek",
      now,
      (window, time) =>
        waitMs(
          window,
          this.limit,
          since(window, time),
          expected,
          this.weight,
        ),
    );
  }

  /** Runs an action while no other thread uses the window. */
  #with<Result>(
    find: "use" | "peek",
    now: number,
    action: (window: BudgetWindow, time: number) => Result,
  ): Result {
    const { limit } = this;
    const time = limit.time(now);
    limit.lock();
    try {
      return action(limit[find](this.#key, time), time);
    } finally {
      limit.unlock();
    }
  }
}

/** Clocks of threads differ by a little: time does not begin before the window that another thread has opened. */
function since({ openedAt }: BudgetWindow, time: number): number {
  return Math.max(openedAt, time);
}
