import { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";

/** A time limit of an exchange with a server. Messages restart it; time in which the client is asked does not count. */
export class MessageLimit {
  readonly cancellation = new Cancellation();
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #reason: () => unknown;
  readonly #unsubscribe: () => void;
  #stop: (() => void) | undefined;
  #paused = 0;

  /** @param reason Creates the reason of the cancellation. */
  constructor(
    parent: Cancellation,
    clock: Clock,
    limitMs: number,
    reason: () => unknown,
  ) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#reason = reason;
    this.#unsubscribe = parent.onCancel((inherited) =>
      this.cancellation.cancel(inherited)
    );
    this.restart();
  }

  /** Begins the time anew. */
  restart(): void {
    this.#stop?.();
    if (this.#paused > 0) return;
    this.#stop = this.#clock.setTimer(
      () => this.cancellation.cancel(this.#reason()),
      this.#limitMs,
    );
  }

  /** Stops the time while `work` is under way. */
  async pausedDuring<T>(work: () => Promise<T>): Promise<T> {
    this.#paused++;
    this.#stop?.();
    try {
      return await work();
    } finally {
      this.#paused--;
      this.restart();
    }
  }

  /** Lifts the limit. */
  end(): void {
    this.#paused = Infinity;
    this.#stop?.();
    this.#unsubscribe();
  }
}
