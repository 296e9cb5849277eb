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
import type { Budget, Limit } from "../local/counter_store.ts";
import type { KeyHash } from "./key_hash.ts";

/** Limit of a budget, whose memory threads share. All but `time` needs the limit to be held. */
export interface SharedBudgetOwner extends Limit, WindowRules {
  readonly definition: Limit["definition"];
  /** Converts monotonic time of this thread to that of the windows. */
  time(now: number): number;
  /** Returns the settled window of a key, which becomes the most recent one; valid until the next call. */
  use(key: KeyHash | undefined, time: number): BudgetWindow;
  /** Returns the settled window of a key, or a full one for a key that is not there; valid until the next call. */
  peek(key: KeyHash | undefined, time: number): BudgetWindow;
  count(what: "admitted" | "refused" | "charged", by: number): void;
}

/** Budget that threads share. Each call holds the limit, some hundred nanoseconds. */
export class SharedBudget implements Budget {
  readonly limit: SharedBudgetOwner;
  readonly #key: KeyHash | undefined;

  /** @param key Undefined for a limit without keys. */
  constructor(limit: SharedBudgetOwner, key: KeyHash | undefined) {
    this.limit = limit;
    this.#key = key;
  }

  allows(now: number, expected = noUse): boolean {
    const { limit } = this;
    limit.hold();
    try {
      return allows(limit.use(this.#key, limit.time(now)), limit, expected);
    } finally {
      limit.release();
    }
  }

  take(now: number, expected = noUse): void {
    const { limit } = this;
    const time = limit.time(now);
    limit.hold();
    try {
      take(limit.use(this.#key, time), limit, time, expected);
      limit.count("admitted", 1);
    } finally {
      limit.release();
    }
  }

  hold(expected: Use, now: number): void {
    const { limit } = this;
    const held = heldBy(limit.definition, expected);
    if (held === 0) return;
    limit.hold();
    try {
      limit.use(this.#key, limit.time(now)).addHeld(held);
    } finally {
      limit.release();
    }
  }

  release(expected: Use, now: number): void {
    const { limit } = this;
    const held = heldBy(limit.definition, expected);
    if (held === 0) return;
    limit.hold();
    try {
      limit.peek(this.#key, limit.time(now)).addHeld(-held);
    } finally {
      limit.release();
    }
  }

  reject(): void {
    const { limit } = this;
    limit.hold();
    limit.count("refused", 1);
    limit.release();
  }

  debit(use: Use, now: number): void {
    const { limit } = this;
    const amount = checkedAmount(limit.definition.unit, use);
    if (amount === 0) return;
    const time = limit.time(now);
    limit.hold();
    try {
      const window = limit.use(this.#key, time);
      charge(window, limit.definition, amount, time);
      limit.count("charged", amount);
    } finally {
      limit.release();
    }
  }

  refund(takenAt: number, now: number): void {
    const { limit } = this;
    limit.hold();
    try {
      const window = limit.peek(this.#key, limit.time(now));
      limit.count("admitted", -1);
      refund(window, limit, limit.time(takenAt));
    } finally {
      limit.release();
    }
  }

  read(now: number): BudgetReading {
    const { limit } = this;
    limit.hold();
    try {
      const window = limit.peek(this.#key, limit.time(now));
      return readWindow(window, limit, since(window, limit.time(now)));
    } finally {
      limit.release();
    }
  }

  waitMs(now: number, expected = noUse): number {
    const { limit } = this;
    limit.hold();
    try {
      const window = limit.peek(this.#key, limit.time(now));
      const time = since(window, limit.time(now));
      return waitMs(window, limit, time, expected);
    } finally {
      limit.release();
    }
  }
}

/** Clocks of threads differ by a little: time does not begin before the window that another thread has opened. */
function since({ openedAt }: BudgetWindow, time: number): number {
  return Math.max(openedAt, time);
}
