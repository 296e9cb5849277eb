import { type Clock, recentTime } from "../../base/clock.ts";
import { type Deadline, TimerWheel } from "../../http/timer_wheel.ts";

/** One timer for all deadlines of a clock: setting one for each message costs more than the rest of a call. */
const wheels = new WeakMap<Clock, TimerWheel>();

/** A time limit that can begin anew. */
export interface MessageDeadline {
  /** Calls back after a time from now on, in place of the one before. */
  begin(delayMs: number): void;
  /** The same, up to 100 ms earlier: that costs less. */
  beginAbout(delayMs: number): void;
  /** Lifts the limit; `begin` sets it again. */
  lift(): void;
}

/** Creates a limit that has not begun. */
export function createDeadline(
  clock: Clock,
  onDue: () => void,
): MessageDeadline {
  const wheel = wheels.getOrInsertComputed(
    clock,
    () => new TimerWheel(clock),
  );
  const deadline: Deadline = { dueAt: Infinity, onDue };
  return {
    begin(delayMs) {
      wheel.add(deadline);
      wheel.set(deadline, delayMs);
    },
    beginAbout(delayMs) {
      wheel.add(deadline);
      wheel.setAt(deadline, recentTime(clock) + delayMs);
    },
    lift: () => wheel.delete(deadline),
  };
}
