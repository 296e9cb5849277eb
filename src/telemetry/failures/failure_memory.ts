import type { FailedRequest } from "./failed_request.ts";

/** The requests that failed last, so that there is an answer to "why?" when nobody watched. */
export class FailureMemory {
  readonly #size: number;
  readonly #requests: FailedRequest[] = [];
  /** Index of the next record, once there are `#size`. */
  #next = 0;

  /** @param size How many are remembered; 0 is none. */
  constructor(size: number) {
    this.#size = size;
  }

  get isOn(): boolean {
    return this.#size > 0;
  }

  get fill(): { readonly used: number; readonly capacity: number } {
    return { used: this.#requests.length, capacity: this.#size };
  }

  remember(request: FailedRequest): void {
    if (this.#size === 0) return;
    this.#requests[this.#next] = request;
    this.#next = (this.#next + 1) % this.#size;
  }

  /** The newest first. */
  list(): readonly FailedRequest[] {
    const { length } = this.#requests;
    return this.#requests.map((_, index) =>
      this.#requests[(this.#next - 1 - index + 2 * length) % length]
    ).filter((request) => request !== undefined);
  }

  /** The newest of that id, which clients may choose, or whose answer had it. */
  find(id: string): FailedRequest | undefined {
    return this.list().find(({ id: own, finished: { upstreamRequestId } }) =>
      own === id || upstreamRequestId === id
    );
  }
}
