/** One share of what is left may be leased ahead of need, so leases shrink with what is left. */
const LEASE_SHARE = 8;
/** Half a lease is meant to last that long at the present rate. */
const LEASE_MS = 50;
/** A lease that is filled again within that time does not get smaller. */
const STEADY_MS = 4 * LEASE_MS;

/**
 * Units of a budget of requests that this process took from the record ahead of need. Its size follows the rate of requests; it never
 * exceeds an eighth of what is left, so close to the limit requests are counted one by one.
 */
export class Lease {
  readonly #largest: number;
  #held = 0;
  /** Size that the rate called for when the lease was last filled. */
  #demand = 0;
  #filledAt = -Infinity;
  #usedSinceFill = 0;
  #usedSinceSweep = 0;
  #usedOfWindow = 0;

  constructor(largest: number) {
    this.#largest = largest;
  }

  /** Units at hand. */
  get held(): number {
    return this.#held;
  }

  use(): void {
    this.#held--;
    this.#usedSinceFill++;
    this.#usedSinceSweep++;
    this.#usedOfWindow++;
  }

  /** Undoes `use`, if there was one in this window. */
  undo(): void {
    if (this.#usedOfWindow === 0) return;
    this.#usedOfWindow--;
    this.#held++;
  }

  /** Whether to fill it now so that nobody has to wait; `available` is what the record has left. */
  isLow(available: number): boolean {
    return this.#held * 2 < shareOf(available, this.#demand);
  }

  /** How much to take from a record: what requests wait for, and on top of it what the rate calls for. */
  sizeOf(
    available: number,
    { waiting, now }: { readonly waiting: number; readonly now: number },
  ): number {
    const left = Math.max(0, available);
    const urgent = Math.min(left, Math.max(0, waiting - this.#held));
    const wanted = shareOf(left - urgent, this.#measureDemand(now));
    return urgent + Math.max(0, wanted - this.#held);
  }

  fill(units: number, now: number): void {
    this.#demand = this.#measureDemand(now);
    this.#usedSinceFill = 0;
    this.#filledAt = now;
    this.#held += units;
  }

  /** Units that the requests since the last call do not call for; asked at a steady pace. */
  sweep(): number {
    const used = this.#usedSinceSweep;
    this.#usedSinceSweep = 0;
    if (this.#held <= used * 4) return 0;
    this.#demand = Math.min(this.#demand, used * 2);
    return this.#held - used * 2;
  }

  drop(units: number): void {
    this.#held -= units;
  }

  /** A lease ends with its window. */
  end(): void {
    this.#held = 0;
    this.#usedOfWindow = 0;
  }

  #measureDemand(now: number): number {
    const lastedMs = now - this.#filledAt;
    const wanted = Math.floor(
      4 * this.#usedSinceFill * LEASE_MS / Math.max(LEASE_MS, lastedMs),
    );
    // Of a slow store, requests get what it gives, not what they call for: only `sweep` knows that they call for less.
    const least = lastedMs < STEADY_MS ? this.#demand : 0;
    return Math.min(this.#largest, Math.max(least, wanted));
  }
}

function shareOf(available: number, demand: number): number {
  return Math.min(demand, Math.floor(available / LEASE_SHARE));
}
