/**
 * Tells that somebody lost interest; one per request.
 *
 * An `AbortController` does the same at several times the cost, which every request would pay.
 */
export class Cancellation {
  #reason: unknown;
  #cancelled = false;
  #listeners: Set<(reason: unknown) => void> | undefined;

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
    const listeners = this.#listeners;
    this.#listeners = undefined;
    for (const listener of listeners ?? []) listener(reason);
  }

  /** Calls `listener` on cancellation, at once when that has happened. The returned function unsubscribes. */
  onCancel(listener: (reason: unknown) => void): () => void {
    if (this.#cancelled) {
      listener(this.#reason);
      return () => {};
    }
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
    return () => void this.#listeners?.delete(listener);
  }
}
