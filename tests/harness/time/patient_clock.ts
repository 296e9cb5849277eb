import { FakeClock } from "./fake_clock.ts";

/** Longest pause before a retry on a store that is locked or was changed by another process. */
const LONGEST_RETRY_MS = 50;

/**
 * A `FakeClock` for code that waits for a shared store: time-outs expire only on `advance`, but the short pauses
 * before a retry elapse by themselves, because tests cannot observe them.
 */
export class PatientClock extends FakeClock {
  override setTimer(callback: () => void, delayMs: number): () => void {
    if (delayMs > LONGEST_RETRY_MS) return super.setTimer(callback, delayMs);
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  }
}
