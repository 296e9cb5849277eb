import { type Clock, recentTime } from "../../base/clock.ts";
import { type Deadline, TimerWheel } from "../../http/timer_wheel.ts";

/** One timer for all deadlines of a clock: setting one for each message costs more than the rest of a call. */
const wheels = new WeakMap<Clock, TimerWheel>();

/** A time limit that can begin anew. */
export class MessageDeadline implements Deadline {
  dueAt = Infinity;
  place: number | undefined;
  readonly onDue: () => void;
  readonly #clock: Clock;
  readonly #wheel: TimerWheel;

  /** Creates a limit that has not begun. */
  constructor(clock: Clock, onDue: () => void) {
    this.onDue = onDue;
    this.#clock = clock;
    this.#wheel = wheels.getOrInsertComputed(
      clock,
      () => new TimerWheel(clock),
    );
  }

  /** Calls back after a time from now on, in place of the one before. */
  begin(delayMs: number): void {
    this.#wheel.add(this);
    this.#wheel.set(this, delayMs);
  }

  /** The same, up to 100 ms earlier: that costs less. */
  beginAbout(delayMs: number): void {
    this.#wheel.add(this);
    this.#wheel.setAt(this, recentTime(this.#clock) + delayMs);
  }

  /** Lifts the limit; `begin` sets it again. */
  lift(): void {
    this.#wheel.delete(this);
  }
}

/**
 * Keeps the timer of a clock while there are no deadlines: where many short ones follow each other, setting it for each costs more than
 * letting it fire in vain. The returned function ends that.
 */
export function keepTimer(clock: Clock): () => void {
  const resident = new MessageDeadline(clock, () => {});
  resident.begin(Infinity);
  return () => resident.lift();
}
