/** Source of time: the system clock in production, a manual one in tests. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. */
  now(): number;
  /** Monotonic time in milliseconds with sub-millisecond precision; only differences are meaningful. */
  monotonic(): number;
  /** Calls `callback` once after `delayMs`; the returned function cancels it. */
  setTimer(callback: () => void, delayMs: number): () => void;
}

/** The system clock; its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(callback, delayMs) {
    const id = setTimeout(callback, delayMs);
    Deno.unrefTimer(id);
    return () => clearTimeout(id);
  },
};

/** Resolves after `delayMs`, or as soon as `signal` aborts. */
export function pause(
  clock: Clock,
  delayMs: number,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => {
    cancelTimer();
    signal.removeEventListener("abort", end);
    resolve();
  };
  const cancelTimer = clock.setTimer(end, delayMs);
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  return promise;
}
