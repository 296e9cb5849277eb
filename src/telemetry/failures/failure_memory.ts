import type { FailedRequest } from "./failed_request.ts";

/** The last failed requests, to explain them although they were not traced. */
export class FailureMemory {
  readonly #size: number;
  readonly #requests: FailedRequest[] = [];
  /** Index of the next record, once the memory is full. */
  #next = 0;

  /** @param size Limit of records; 0 for none. */
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

  /** Returns the records, the newest first. */
  list(): readonly FailedRequest[] {
    const { length } = this.#requests;
    return this.#requests.map((_, index) =>
      this.#requests[(this.#next - 1 - index + 2 * length) % length]
    ).filter((request) => request !== undefined);
  }

  /** Returns the newest record with this ID, which the client may have chosen, or with this ID in the response. */
  find(id: string): FailedRequest | undefined {
    return this.list().find(({ id: own, finished: { upstreamRequestId } }) =>
      own === id || upstreamRequestId === id
    );
  }
}
