import { Cancellation } from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import { MessageDeadline } from "../../streams/message_deadline.ts";

/** A time limit of an exchange with a server. Messages restart it; time in which the client is asked does not count. */
export class MessageLimit {
  readonly cancellation: Cancellation;
  readonly #limitMs: number;
  readonly #limit: MessageDeadline;
  readonly #unsubscribe: () => void;
  #paused = 0;

  /**
   * @param reason Creates the reason of the cancellation.
   * @param begun An exchange that is under way, whose cancellation it uses.
   */
  constructor(
    parent: Cancellation,
    clock: Clock,
    limitMs: number,
    reason: () => unknown,
    begun?: { readonly cancellation: Cancellation; readonly beganAt: number },
  ) {
    this.cancellation = begun?.cancellation ?? new Cancellation();
    this.#limitMs = limitMs;
    this.#limit = new MessageDeadline(
      clock,
      () => this.cancellation.cancel(reason()),
    );
    this.#unsubscribe = parent.onCancel((inherited) =>
      this.cancellation.cancel(inherited)
    );
    const passedMs = begun === undefined
      ? 0
      : clock.monotonic() - begun.beganAt;
    this.#limit.begin(Math.max(0, limitMs - passedMs));
  }

  /** Begins the time anew. */
  restart(): void {
    if (this.#paused === 0) this.#limit.begin(this.#limitMs);
  }

  /** Stops the time while `work` is under way. */
  async pausedDuring<T>(work: () => Promise<T>): Promise<T> {
    this.#paused++;
    this.#limit.lift();
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
    this.#limit.lift();
    this.#unsubscribe();
  }
}
