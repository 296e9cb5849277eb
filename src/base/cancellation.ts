import type { Clock } from "./clock.ts";

/**
 * A cancellation signal; every request has one.
 *
 * `AbortController` does the same at several times the cost.
 */
export class Cancellation {
  #reason: unknown;
  #cancelled = false;
  /** Most cancellations have one listener; the set is created for the second. */
  #listener: Listener | undefined;
  #others: Set<Listener> | undefined;

  get cancelled(): boolean {
    return this.#cancelled;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** Cancels once: later calls have no effect. Listeners run before it returns. */
  cancel(reason: unknown): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#reason = reason;
    const first = this.#listener;
    const others = this.#others;
    this.#listener = this.#others = undefined;
    first?.(reason);
    for (const listener of others ?? []) listener(reason);
  }

  /** Calls `listener` on cancellation, immediately if already cancelled. The returned function unsubscribes. */
  onCancel(listener: Listener): () => void {
    if (this.#cancelled) {
      listener(this.#reason);
      return () => {};
    }
    if (this.#listener === undefined) {
      this.#listener = listener;
      return () => {
        if (this.#listener === listener) this.#listener = undefined;
      };
    }
    this.#others ??= new Set();
    this.#others.add(listener);
    return () => void this.#others?.delete(listener);
  }
}

/** Receives the reason. */
type Listener = (reason: unknown) => void;

/** A cancellation with a time limit; its parent's cancellation applies too. */
export interface Deadline {
  readonly cancellation: Cancellation;
  /** Removes the time limit; the parent's cancellation still applies. */
  lift(): void;
}

/** Cancels with `reason()` after `timeoutMs`, or when `parent` does. */
export function createDeadline(
  parent: Cancellation,
  clock: Clock,
  timeoutMs: number,
  reason: () => unknown,
): Deadline {
  const cancellation = new Cancellation();
  parent.onCancel((inherited) => cancellation.cancel(inherited));
  const lift = clock.setTimer(() => cancellation.cancel(reason()), timeoutMs);
  return { cancellation, lift };
}

/** Awaits `promise`; rejects with the reason when cancelled first. The underlying work continues. */
export function unlessCancelled<T>(
  promise: Promise<T>,
  cancellation: Cancellation,
): Promise<T> {
  const { promise: cancelled, reject } = Promise.withResolvers<never>();
  const unsubscribe = cancellation.onCancel(reject);
  return Promise.race([promise, cancelled]).finally(unsubscribe);
}

/** Resolves after `delayMs`; rejects with the reason when cancelled first. */
export function sleep(
  clock: Clock,
  delayMs: number,
  cancellation: Cancellation,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stopTimer = clock.setTimer(() => {
    unsubscribe();
    resolve();
  }, delayMs);
  const unsubscribe = cancellation.onCancel((reason) => {
    stopTimer();
    reject(reason);
  });
  return promise;
}
