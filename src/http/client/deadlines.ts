import type { Clock } from "../../base/clock.ts";

/** Something that waits, and can wait too long. */
export interface Timed {
  /** Monotonic time when the wait is over; `Infinity` for none. Set by `Deadlines` alone. */
  dueAt: number;
  onDue(): void;
}

/**
 * One timer for many deadlines.
 *
 * Nearly every deadline is moved before it is reached. So moving one is an assignment, and the timer, set for the earliest
 * deadline it knew, looks again when it fires.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #members = new Set<Timed>();
  #wakesAt = Infinity;
  #stopTimer: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(member: Timed): void {
    this.#members.add(member);
  }

  delete(member: Timed): void {
    this.#members.delete(member);
    member.dueAt = Infinity;
    if (this.#members.size === 0) this.#sleepUntil(Infinity);
  }

  /** Makes `member`, which was added, due in `delayMs`; `undefined` is never. */
  set(member: Timed, delayMs: number | undefined): void {
    if (delayMs === undefined) {
      member.dueAt = Infinity;
      return;
    }
    member.dueAt = this.#clock.monotonic() + delayMs;
    if (member.dueAt < this.#wakesAt) this.#sleepUntil(member.dueAt);
  }

  #sleepUntil(wakesAt: number): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#wakesAt = wakesAt;
    if (wakesAt === Infinity) return;
    const delayMs = Math.max(1, Math.ceil(wakesAt - this.#clock.monotonic()));
    this.#stopTimer = this.#clock.setTimer(() => this.#wake(), delayMs);
  }

  #wake(): void {
    const now = this.#clock.monotonic();
    // What is due may set or delete any deadline, its own too.
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
