import { FakeClock } from "./fake_clock.ts";

/** The longest that a store which was locked, or written by somebody else, is left alone for. */
const LONGEST_RETRY_MS = 50;

/**
 * A `FakeClock` for what waits for a store that others use too: no request has waited too long before `advance`, but the short pauses
 * before another try pass by themselves, as nobody can know of them.
 */
export class PatientClock extends FakeClock {
  override setTimer(callback: () => void, delayMs: number): () => void {
    if (delayMs > LONGEST_RETRY_MS) return super.setTimer(callback, delayMs);
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  }
}
