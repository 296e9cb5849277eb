import type { Clock } from "../../base/clock.ts";
import { setNewest } from "../../base/kept_values.ts";
import type { BudgetReading } from "../../ratelimit/budget/budget.ts";
import type { CallerBudget } from "./key_caller.ts";

/** A budget of which so much is used that somebody wants to know. */
export interface BudgetNotice {
  /** Whose it is. */
  readonly kind: CallerBudget["kind"];
  readonly id: string;
  /** Unit of the amounts, such as `usd` or `tokens`. */
  readonly unit: string;
  readonly limit: number;
  readonly remaining: number;
  /** The percentage of `notifyAt` that is reached. */
  readonly percent: number;
  readonly resetSeconds: number;
}

/** Notices that are remembered. */
const MAX_NOTICES = 10_000;

/** Remembers which notices were given, so that each is given once in a window. */
export class GivenNotices {
  readonly #clock: Pick<Clock, "monotonic">;
  /** Monotonic time of the end of the window, by budget and percentage. */
  readonly #untilBy = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Remembers a notice; returns whether it is a new one. */
  add(notice: BudgetNotice): boolean {
    const key = noticeKey(notice).join(" ");
    const now = this.#clock.monotonic();
    if ((this.#untilBy.get(key) ?? -Infinity) > now) return false;
    const until = now + 1000 * notice.resetSeconds;
    setNewest(this.#untilBy, key, until, MAX_NOTICES);
    return true;
  }
}

/** Returns what notices of the same budget and percentage have in common. */
export function noticeKey(
  { kind, id, unit, limit, percent }: BudgetNotice,
): readonly [string, string, string, number, number] {
  return [kind, id, unit, limit, percent];
}

/** Looks at the budgets of requests in this thread, and gives notice of those that come to their end. */
export class NoticeBoard {
  readonly #notify: (notice: BudgetNotice) => void;
  readonly #given: GivenNotices;

  constructor(
    clock: Pick<Clock, "monotonic">,
    notify: (notice: BudgetNotice) => void,
  ) {
    this.#notify = notify;
    this.#given = new GivenNotices(clock);
  }

  /** Looks at a budget after a request was admitted. */
  look(
    { kind, id, budget: { notifyAt = [] } }: CallerBudget,
    { unit, limit, remaining, resetMs }: BudgetReading,
  ): void {
    const used = 100 * (1 - remaining / limit);
    const percent = Math.max(...notifyAt.filter((each) => each <= used));
    if (!Number.isFinite(percent)) return;
    const resetSeconds = Math.ceil(resetMs / 1000);
    const notice = { kind, id, unit, limit, remaining, percent, resetSeconds };
    if (this.#given.add(notice)) this.#notify(notice);
  }
}
