import { type Clock, inTime } from "../../base/clock.ts";

/** Runs the exchanges of a bucket with the store one at a time. */
export class KvExchange {
  readonly #run: () => Promise<void>;
  readonly #clock: Clock;
  #underWay: Promise<void> | undefined;
  /** Monotonic time of the last start. */
  #startedAt = -Infinity;
  #error: unknown;

  constructor(run: () => Promise<void>, clock: Clock) {
    this.#run = run;
    this.#clock = clock;
  }

  get isUnderWay(): boolean {
    return this.#underWay !== undefined;
  }

  /** Error of the last exchange; `undefined` after a successful one. */
  get error(): unknown {
    return this.#error;
  }

  /** Milliseconds since the exchange in progress started; 0 without one. */
  get silentMs(): number {
    return this.#underWay === undefined
      ? 0
      : this.#clock.monotonic() - this.#startedAt;
  }

  /** Resolves at the end of the exchange in progress, if any. */
  async end(): Promise<void> {
    await this.#underWay;
  }

  /** Joins the exchange in progress or starts one; resolves at its end, even if it fails. */
  start(): Promise<void> {
    this.#underWay ??= this.#tryRun().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async #tryRun(): Promise<void> {
    this.#startedAt = this.#clock.monotonic();
    try {
      await this.#run();
      this.#error = undefined;
    } catch (error) {
      this.#error = error;
    }
  }
}

/**
 * Waits for work, for a limited time; returns whether it has ended.
 * @param work A promise that never rejects.
 */
export async function isOverWithin(
  clock: Clock,
  ms: number,
  work: Promise<unknown>,
): Promise<boolean> {
  return await inTime(clock, ms, work.then(() => true)) ?? false;
}
