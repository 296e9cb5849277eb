import type { Clock } from "../../base/clock.ts";
import type { KvBucket } from "./kv_bucket.ts";

/** How often leases are reviewed and debits settled. */
const SWEEP_MS = 100;
/** How many buckets are looked at to find one that may be forgotten. */
const FORGET_LOOKS = 16;

/** Sees to it that buckets tell the store what it has to learn, also those that left memory for others. Has no timer while none has. */
export class KvSweeper {
  readonly #clock: Clock;
  readonly #maxBuckets: number;
  readonly #dirty = new Set<KvBucket>();
  #cancelSweep: (() => void) | undefined;
  #isStopped = false;
  #lostDebits = 0;

  /** @param maxBuckets Of more than that, one of the oldest is forgotten. */
  constructor(clock: Clock, maxBuckets: number) {
    this.#clock = clock;
    this.#maxBuckets = maxBuckets;
  }

  /** Tokens of buckets that were forgotten. */
  get lostDebits(): number {
    return this.#lostDebits;
  }

  /** Sweeps that bucket until the store knows everything. */
  watch(bucket: KvBucket): void {
    this.#dirty.add(bucket);
    this.#sweepSoon();
    if (this.#dirty.size > this.#maxBuckets) this.#forget();
  }

  /** Ends the sweeps. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelSweep?.();
  }

  /** Tells the store everything at once. */
  async flush(): Promise<void> {
    await Promise.all([...this.#dirty].map((bucket) => bucket.flush()));
  }

  /**
   * Forgets what piles up: the store is down, or does not keep up with new keys. Those that somebody only asks for go first, so that
   * inventing keys does not wipe out what was used.
   */
  #forget(): void {
    let looks = 0;
    for (const bucket of this.#dirty) {
      this.#dirty.delete(bucket);
      if (bucket.pendingDebits === 0 || ++looks === FORGET_LOOKS) {
        this.#lostDebits += bucket.pendingDebits;
        return;
      }
      this.#dirty.add(bucket);
    }
  }

  #sweep(): void {
    this.#cancelSweep = undefined;
    for (const bucket of this.#dirty) {
      bucket.sweep();
      if (!bucket.isDirty) this.#dirty.delete(bucket);
    }
    if (this.#dirty.size > 0) this.#sweepSoon();
  }

  #sweepSoon(): void {
    if (this.#isStopped) return;
    this.#cancelSweep ??= this.#clock.setTimer(() => this.#sweep(), SWEEP_MS);
  }
}
