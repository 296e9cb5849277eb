import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";

const INTERVAL_MS = 60_000;

/** Warns of exhausted limits that reject nothing, at most once a minute for each. */
export class SoftLimits {
  readonly #clock: Clock;
  readonly #log: Log;
  /** Monotonic times of the latest warnings, by limit. */
  readonly #warnedAt = new Map<string, number>();

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** @param scope Target of the limit, or its domain. */
  warn(limit: string, scope: string): void {
    const now = this.#clock.monotonic();
    const key = `${scope} ${limit}`;
    const warnedAt = this.#warnedAt.get(key) ?? -Infinity;
    if (now - warnedAt < INTERVAL_MS) return;
    this.#warnedAt.set(key, now);
    this.#log.warn("A limit that only warns is used up", { limit, scope });
  }
}
