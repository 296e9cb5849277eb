import { type Clock, recentTime } from "../base/clock.ts";

/** Delay whose exact start does not matter. */
const LONG_MS = 5000;

/** A time limit. */
export interface Deadline {
  /** Monotonic time in milliseconds; `Infinity` for none. Set it through `TimerWheel`, or to `Infinity`. */
  dueAt: number;
  /** Place among the members of its wheel, which sets it. */
  place?: number | undefined;
  /** Called once when the deadline is due; may set the next deadline. */
  onDue(): void;
}

/**
 * One timer for many deadlines.
 *
 * A timer per request would cost more than many requests do, and nearly every deadline is moved before it is due. Moving a
 * deadline is an assignment; the timer, set for the earliest known deadline, checks all of them when it fires.
 */
export class TimerWheel {
  readonly #clock: Clock;
  readonly #resolutionMs: number;
  /**
   * Not a set: its tables, of which many short-lived members need one after the other, refer to the next one. Once the first is old,
   * all later ones grow old with what their members refer to, and requests become garbage that only the slow collection finds.
   */
  readonly #members: Deadline[] = [];
  #wakesAt = Infinity;
  #stopTimer: (() => void) | undefined;

  /** @param resolutionMs Maximum delay of a deadline; the timer fires at most once in this time. */
  constructor(clock: Clock, resolutionMs = 1) {
    this.#clock = clock;
    this.#resolutionMs = resolutionMs;
  }

  add(deadline: Deadline): void {
    deadline.place ??= this.#members.push(deadline) - 1;
  }

  delete(deadline: Deadline): void {
    const { place } = deadline;
    deadline.dueAt = Infinity;
    if (place === undefined) return;
    deadline.place = undefined;
    const last = this.#members.pop();
    if (last !== undefined && last !== deadline) {
      this.#members[place] = last;
      last.place = place;
    }
    if (this.#members.length === 0) this.#sleepUntil(Infinity);
  }

  /** Returns the monotonic time in `delayMs` from now. */
  after(delayMs: number): number {
    const clock = this.#clock;
    return delayMs +
      (delayMs < LONG_MS ? clock.monotonic() : recentTime(clock));
  }

  /** Makes a member due in `delayMs`, of which a long delay is exact to 100 ms; `undefined` is never. */
  set(deadline: Deadline, delayMs: number | undefined): void {
    this.setAt(
      deadline,
      delayMs === undefined ? Infinity : this.after(delayMs),
    );
  }

  /** Makes a member due at a monotonic time; `Infinity` is never. */
  setAt(deadline: Deadline, dueAt: number): void {
    deadline.dueAt = dueAt;
    if (dueAt < this.#wakesAt) this.#sleepUntil(dueAt);
  }

  #sleepUntil(wakesAt: number): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#wakesAt = wakesAt;
    if (wakesAt === Infinity) return;
    const delayMs = Math.ceil(wakesAt - this.#clock.monotonic());
    this.#stopTimer = this.#clock.setTimer(
      () => this.#wake(),
      Math.max(delayMs, this.#resolutionMs),
    );
  }

  #wake(): void {
    const now = this.#clock.monotonic();
    // A callback may set or delete any deadline, including its own.
    this.#wakesAt = Infinity;
    let next = Infinity;
    for (const member of [...this.#members]) {
      if (member.dueAt <= now) {
        member.dueAt = Infinity;
        member.onDue();
      }
    }
    for (const { dueAt } of this.#members) next = Math.min(next, dueAt);
    this.#sleepUntil(next);
  }
}
