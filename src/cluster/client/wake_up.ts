/** Lets a loop wait until something has changed. */
export class WakeUp {
  #resolve: () => void = () => {};

  /** Ends the wait under way, if any. */
  wake(): void {
    this.#resolve();
  }

  /** Resolves on the next `wake`, or when `signal` aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => resolve();
    this.#resolve = end;
    signal.addEventListener("abort", end);
    await promise;
    signal.removeEventListener("abort", end);
  }
}
