import type { Clock } from "../../base/clock.ts";
import { heldBy, noUse, type Use } from "../budget/budget.ts";
import type { HeldUse } from "../limiter/global_limiter.ts";
import type { KvBucket } from "./kv_bucket.ts";
import { isOverWithin } from "./kv_exchange.ts";
import type { KvSweeper } from "./kv_sweeper.ts";

/** Reason for which nothing was reserved: an amount that is not left in a bucket, or a store that did not say so in time. */
export type NotReserved =
  | { readonly bucket: KvBucket; readonly needed: number }
  | "no response";

/** Reserves what requests may use in several buckets, or in none of them. */
export class KvReserver {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #sweeper: KvSweeper;

  constructor(
    { clock, waitMs, sweeper }: {
      readonly clock: Clock;
      /** Time that a request waits for the store, for each bucket. */
      readonly waitMs: number;
      readonly sweeper: KvSweeper;
    },
  ) {
    this.#clock = clock;
    this.#waitMs = waitMs;
    this.#sweeper = sweeper;
  }

  /** Reports whether a request has to reserve something. */
  isNeeded(buckets: readonly KvBucket[], expected: Use): boolean {
    return buckets.some((bucket) => amountIn(bucket, expected) > 0);
  }

  /** Reserves what a request may use; returns `undefined` on success. */
  async reserve(
    buckets: readonly KvBucket[],
    expected: Use,
  ): Promise<NotReserved | undefined> {
    const reserved: KvBucket[] = [];
    for (const bucket of buckets) {
      const needed = amountIn(bucket, expected);
      if (needed === 0) continue;
      const isGranted = await this.#reserveIn(bucket, needed);
      if (isGranted === true) {
        reserved.push(bucket);
        continue;
      }
      const takenAt = this.#clock.monotonic();
      this.end(reserved, { takenAt, expected });
      return isGranted === undefined ? "no response" : { bucket, needed };
    }
    return undefined;
  }

  /** Returns what was reserved, unless its window is over. */
  end(
    buckets: readonly KvBucket[],
    { takenAt, expected = noUse }: HeldUse,
  ): void {
    if (takenAt === undefined) return;
    for (const bucket of buckets) {
      const amount = amountIn(bucket, expected);
      if (amount === 0) continue;
      bucket.unreserve(amount, takenAt);
      this.#sweeper.watch(bucket);
    }
  }

  /** Returns whether an amount was left; `undefined` if the store does not say so in time. */
  async #reserveIn(
    bucket: KvBucket,
    amount: number,
  ): Promise<boolean | undefined> {
    const { reservation, decided } = bucket.reserve(amount);
    // A reservation that is granted too late has to be returned.
    this.#sweeper.watch(bucket);
    await isOverWithin(this.#clock, this.#waitMs, decided);
    reservation.isCancelled = reservation.isGranted === undefined;
    return reservation.isGranted;
  }
}

/** Budgets that only warn reserve nothing. */
function amountIn({ budget }: KvBucket, expected: Use): number {
  return budget.isSoft === true ? 0 : heldBy(budget, expected);
}
