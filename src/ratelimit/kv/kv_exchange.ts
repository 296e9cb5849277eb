import type { Clock } from "../../base/clock.ts";

/** What a bucket does with the store: one time after the other, whoever asks for it. */
export class KvExchange {
  readonly #run: () => Promise<void>;
  readonly #clock: Clock;
  #underWay: Promise<void> | undefined;
  /** Monotonic time. */
  #startedAt = -Infinity;
  #error: unknown;

  constructor(run: () => Promise<void>, clock: Clock) {
    this.#run = run;
    this.#clock = clock;
  }

  get isUnderWay(): boolean {
    return this.#underWay !== undefined;
  }

  /** Why the last one failed; `undefined` once one works. */
  get error(): unknown {
    return this.#error;
  }

  /** For how long the store has not answered what it was asked. */
  get silentMs(): number {
    return this.#underWay === undefined
      ? 0
      : this.#clock.monotonic() - this.#startedAt;
  }

  /** Resolves at the end of the one under way, if there is one. */
  async end(): Promise<void> {
    await this.#underWay;
  }

  /** Joins the one under way, or starts one; resolves at its end, also when it fails. */
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
