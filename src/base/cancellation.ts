import type { Clock } from "./clock.ts";

/**
 * Tells that somebody lost interest; one per request.
 *
 * An `AbortController` does the same at several times the cost, which every request would pay.
 */
export class Cancellation {
  #reason: unknown;
  #cancelled = false;
  /** Most have one listener: a set is made for the second. */
  #listener: Listener | undefined;
  #others: Set<Listener> | undefined;

  get cancelled(): boolean {
    return this.#cancelled;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** The first call counts; its listeners run before it returns. */
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

  /** Calls `listener` on cancellation, at once when that has happened. The returned function unsubscribes. */
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

/** Hears why. */
type Listener = (reason: unknown) => void;

/** A cancellation that follows another one and also has an end of its own. */
export interface Deadline {
  readonly cancellation: Cancellation;
  /** Lifts the time limit; the parent's cancellation is still followed. */
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
  parent.onCancel((why) => cancellation.cancel(why));
  const lift = clock.setTimer(() => cancellation.cancel(reason()), timeoutMs);
  return { cancellation, lift };
}

/** Waits for `promise`; rejects with the reason when cancelled before. What it stands for goes on. */
export function unlessCancelled<T>(
  promise: Promise<T>,
  cancellation: Cancellation,
): Promise<T> {
  const { promise: cancelled, reject } = Promise.withResolvers<never>();
  const unsubscribe = cancellation.onCancel(reject);
  return Promise.race([promise, cancelled]).finally(unsubscribe);
}

/** Resolves after `delayMs`; rejects with the reason when cancelled before. */
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
