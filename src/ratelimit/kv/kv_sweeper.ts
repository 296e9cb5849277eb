import type { Clock } from "../../base/clock.ts";
import type { KvBucket } from "./kv_bucket.ts";

/** Interval at which leases are reviewed and debits settled. */
const SWEEP_MS = 100;
/** Buckets checked to find one without debits to drop. */
const DROP_CHECKS = 16;

/** Flushes pending charges and unused leases, also of evicted buckets. Has no timer while there are none. */
export class KvSweeper {
  readonly #clock: Clock;
  readonly #maxBuckets: number;
  readonly #dirty = new Set<KvBucket>();
  #cancelSweep: (() => void) | undefined;
  #isStopped = false;
  #lostDebits = 0;

  /** @param maxBuckets Beyond this, one of the oldest is dropped. */
  constructor(clock: Clock, maxBuckets: number) {
    this.#clock = clock;
    this.#maxBuckets = maxBuckets;
  }

  /** Tokens of dropped buckets. */
  get lostDebits(): number {
    return this.#lostDebits;
  }

  /** Sweeps the bucket until everything is written. */
  watch(bucket: KvBucket): void {
    this.#dirty.add(bucket);
    this.#sweepSoon();
    if (this.#dirty.size > this.#maxBuckets) this.#drop();
  }

  /** Ends the sweeps. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelSweep?.();
  }

  /** Writes everything now. */
  async flush(): Promise<void> {
    await Promise.all([...this.#dirty].map((bucket) => bucket.flush()));
  }

  /**
   * Drops a bucket when they pile up because the store is down or does not keep up with new keys. Buckets without debits go first, so
   * that inventing keys does not erase tokens that were used.
   */
  #drop(): void {
    let checks = 0;
    for (const bucket of this.#dirty) {
      this.#dirty.delete(bucket);
      if (bucket.pendingDebits === 0 || ++checks === DROP_CHECKS) {
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
