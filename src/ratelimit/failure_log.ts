import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";

/** A limiter that works now and then is told of no more often. */
const INTERVAL_MS = 10_000;

/** Tells the log when a limiter cannot say anything any more, and when it can again: where it fails open, nothing else would. */
export class FailureLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #which: { readonly domain: string; readonly store: string };
  /** Requests without a verdict since the log was told; `undefined` while it need not be. */
  #failed: number | undefined;
  #toldAt = -Infinity;

  /** @param which Goes along with every line. */
  constructor(
    { log, clock }: { readonly log: Log; readonly clock: Clock },
    which: { readonly domain: string; readonly store: string },
  ) {
    this.#log = log;
    this.#clock = clock;
    this.#which = which;
  }

  /** A request was decided, or was not. @param error Why it was not. */
  note(error: unknown): void {
    if (error !== undefined) return this.#fail(error);
    if (this.#failed === undefined) return;
    const requests = this.#failed;
    this.#failed = undefined;
    const fields = { ...this.#which, requests };
    this.#log.info("What is left of global limits can be said again", fields);
  }

  #fail(error: unknown): void {
    if (this.#failed !== undefined) {
      this.#failed++;
      return;
    }
    const now = this.#clock.monotonic();
    if (now - this.#toldAt < INTERVAL_MS) return;
    this.#toldAt = now;
    this.#failed = 1;
    this.#log.warn(
      "Nobody can say what is left of global limits: requests are refused with 503, or pass where failureMode is Open",
      { ...this.#which, error },
    );
  }
}
