/** At most this part of what is left is leased ahead of need, so leases shrink as the budget runs out. */
const LEASE_SHARE = 8;
/** A lease lasts this many sweeps at the current rate; after half of that it is filled again or returned. */
const LEASE_SWEEPS = 4;

/**
 * Requests that this process took from the record of a budget ahead of need. The size follows the rate of requests and never exceeds
 * an eighth of what is left, so close to the limit requests are counted one by one.
 */
export class Lease {
  readonly #largest: number;
  #held = 0;
  /** Requests between the last two sweeps. */
  #lastUsed = 0;
  /** Requests since the last sweep. */
  #used = 0;
  #usedInWindow = 0;

  constructor(largest: number) {
    this.#largest = largest;
  }

  /** Requests that can be admitted. */
  get held(): number {
    return this.#held;
  }

  /** Reports whether `sweep` has to be called. */
  get isInUse(): boolean {
    return this.#held > 0 || this.#used > 0;
  }

  use(): void {
    this.#held--;
    this.#used++;
    this.#usedInWindow++;
  }

  /** Undoes one `use` of this window; does nothing if there was none. */
  undo(): void {
    if (this.#usedInWindow === 0) return;
    this.#usedInWindow--;
    this.#held++;
  }

  /** Reports whether to fill the lease before a request has to wait; `available` is what the record has left. */
  isLow(available: number): boolean {
    return this.#held * 2 < this.#wanted(available);
  }

  /** Returns how many to take from a record: one for each waiting request, and a lease on top. */
  missing(available: number, waiting: number): number {
    const left = Math.max(0, available);
    const urgent = Math.min(left, Math.max(0, waiting - this.#held));
    return urgent + Math.max(0, this.#wanted(left - urgent) - this.#held);
  }

  fill(count: number): void {
    this.#held += count;
  }

  /** Returns how many the current rate does not need. Called at a steady pace. */
  sweep(): number {
    const used = this.#used;
    this.#lastUsed = used;
    this.#used = 0;
    return this.#held > used * LEASE_SWEEPS
      ? this.#held - used * LEASE_SWEEPS / 2
      : 0;
  }

  drop(count: number): void {
    this.#held -= count;
  }

  /** Ends the lease, which belongs to a window. */
  end(): void {
    this.#held = 0;
    this.#usedInWindow = 0;
  }

  #wanted(available: number): number {
    // A single request needs no lease, which would cost two writes.
    const rate = Math.max(this.#lastUsed, this.#used) - 1;
    return Math.min(
      this.#largest,
      Math.max(0, rate) * LEASE_SWEEPS,
      Math.floor(available / LEASE_SHARE),
    );
  }
}
