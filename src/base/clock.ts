/** Where time comes from: the real clock in production, a hand-moved one in tests. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. */
  now(): number;
  /** Monotonic time in milliseconds with sub-millisecond precision; only differences mean anything. */
  monotonic(): number;
  /** Calls `callback` once after `delayMs`; the returned function cancels it. */
  setTimer(callback: () => void, delayMs: number): () => void;
}

/** The clock of the machine; its timers never keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(callback, delayMs) {
    const id = setTimeout(callback, delayMs);
    Deno.unrefTimer(id);
    return () => clearTimeout(id);
  },
};
