import { describeError } from "../../base/errors.ts";
import type { TraceRecorder } from "./trace_recorder.ts";

interface Wait {
  readonly kind: string;
  readonly whom: string;
  readonly startedAt: number;
}

/** Records what the policies of one request wait for, once the wait is over. */
export class PolicyWaits {
  readonly #recorder: TraceRecorder;
  #current: Wait | undefined;

  constructor(recorder: TraceRecorder) {
    this.#recorder = recorder;
  }

  /** Records a wait and passes its outcome on. */
  async follow<T>(
    kind: string,
    whom: string,
    pending: Promise<T>,
  ): Promise<T> {
    const wait = { kind, whom, startedAt: this.#recorder.now() };
    this.#current = wait;
    try {
      const value = await pending;
      this.#end(wait, undefined);
      return value;
    } catch (error) {
      this.#end(wait, error);
      throw error;
    }
  }

  /** Ends the current wait, for instance because the client left. */
  giveUp(reason: unknown): void {
    if (this.#current !== undefined) this.#end(this.#current, reason);
  }

  #end(wait: Wait, reason: unknown): void {
    if (this.#current !== wait) return;
    this.#current = undefined;
    const { kind, whom, startedAt } = wait;
    const details = {
      waitedFor: whom,
      ...(reason !== undefined && { error: describeError(reason) }),
    };
    this.#recorder.emit({ type: "policyEvent", kind, details }, startedAt);
  }
}
