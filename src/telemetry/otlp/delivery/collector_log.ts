import type { Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log/log.ts";
import type { Signal } from "./export_result.ts";

/** A failing collector is logged at most so often. */
const QUIET_MS = 60_000;

/** Logs when a collector begins to fail, and when it has recovered. */
export class CollectorLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #endpoint: string;
  #failingSince: number | undefined;
  #loggedAt = -Infinity;

  /** @param endpoint Address of the collector, without credentials. */
  constructor(log: Log, clock: Clock, endpoint: string) {
    this.#log = log;
    this.#clock = clock;
    this.#endpoint = endpoint;
  }

  /** Records an attempt. @param error Why it failed. */
  note(signal: Signal, error: unknown): void {
    const endpoint = this.#endpoint;
    const now = this.#clock.monotonic();
    if (error === undefined) {
      if (this.#failingSince === undefined) return;
      const seconds = Math.round((now - this.#failingSince) / 1000);
      this.#failingSince = undefined;
      const fields = { endpoint, seconds };
      return this.#log.info("The collector accepts exports again", fields);
    }
    this.#failingSince ??= now;
    if (now - this.#loggedAt < QUIET_MS) return;
    this.#loggedAt = now;
    const fields = { signal, endpoint, error };
    this.#log.warn("Cannot export to the OpenTelemetry collector", fields);
  }
}
