import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";

/** Interval at which failures of an unreliable limiter are logged. */
const INTERVAL_MS = 10_000;

/** Logs when a limiter starts to fail and when it recovers; with failure mode `Open` nothing else shows it. */
export class FailureLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #labels: { readonly domain: string; readonly store: string };
  /** Failed requests since the failure was logged; `undefined` without one. */
  #failed: number | undefined;
  #loggedAt = -Infinity;

  /** @param labels Fields of every line. */
  constructor(
    { log, clock }: { readonly log: Log; readonly clock: Clock },
    labels: { readonly domain: string; readonly store: string },
  ) {
    this.#log = log;
    this.#clock = clock;
    this.#labels = labels;
  }

  /** Records a decision. @param error Why a request could not be decided. */
  note(error: unknown): void {
    if (error !== undefined) return this.#fail(error);
    if (this.#failed === undefined) return;
    const requests = this.#failed;
    this.#failed = undefined;
    const fields = { ...this.#labels, requests };
    this.#log.info("Global limits are available again", fields);
  }

  #fail(error: unknown): void {
    if (this.#failed !== undefined) {
      this.#failed++;
      return;
    }
    const now = this.#clock.monotonic();
    if (now - this.#loggedAt < INTERVAL_MS) return;
    this.#loggedAt = now;
    this.#failed = 1;
    this.#log.warn(
      "Global limits are not available: requests get 503, or pass if failureMode is Open",
      { ...this.#labels, error },
    );
  }
}
