import type { Clock } from "../../base/clock.ts";
import {
  createBucket,
  mergeBucket,
  type TrafficBucket,
} from "./traffic_bucket.ts";
import {
  rangeSteps,
  type TrafficRange,
  trafficRanges,
} from "./traffic_range.ts";
import {
  describeTraffic,
  type TrafficQuery,
  type TrafficReport,
} from "./traffic_report.ts";
import type { TrafficNews } from "./traffic_recorder.ts";
import {
  startOf,
  type UsageQuery,
  type UsageSum,
  UsageSums,
} from "./summed_usage.ts";
import {
  type UsageBook,
  UsageTable,
  type UsageUnit,
  usageUnits,
} from "./usage_table.ts";

/** Hours that are kept in memory. */
const KEPT_MS = 32 * usageUnits.day;
/** A store has hours of a shorter time, and days of 13 months. */
const HOURS_OF_STORE_MS = 2 * usageUnits.day;

/**
 * The traffic of all threads: of the last 24 hours in buckets of 15 seconds, a minute and 15 minutes, and who used what by
 * the hour, of the last 32 days.
 */
export class TrafficStore {
  readonly #clock: Pick<Clock, "now">;
  /** Set where processes share who used what. */
  readonly #book: UsageBook | undefined;
  readonly #usage = new UsageTable();
  readonly #startedAt: number;
  readonly #rings: Readonly<Record<TrafficRange, TrafficRing>>;

  constructor(clock: Pick<Clock, "now">, book?: UsageBook) {
    this.#clock = clock;
    this.#book = book;
    this.#startedAt = clock.now();
    this.#rings = {
      "15m": new TrafficRing(rangeSteps["15m"]),
      "1h": new TrafficRing(rangeSteps["1h"]),
      "24h": new TrafficRing(rangeSteps["24h"]),
    };
  }

  /** Adds what a recorder has counted. */
  add({ buckets, usage }: TrafficNews): void {
    const now = this.#clock.now();
    for (const bucket of buckets) {
      for (const range of trafficRanges) this.#rings[range].add(bucket, now);
    }
    if (this.#book !== undefined) return this.#book.add(usage);
    for (const row of usage) this.#usage.add(row);
    this.#usage.forgetBefore(now - KEPT_MS);
  }

  /** Describes the traffic of a range that ends now. */
  report(query: TrafficQuery): TrafficReport {
    const { stepMs } = rangeSteps[query.range];
    const now = this.#clock.now();
    return describeTraffic(query, {
      now,
      stepMs,
      startedAt: this.#startedAt,
      buckets: this.#rings[query.range].read(now),
    });
  }

  /** Returns who used what, in whole hours, or in whole days where the store has no hours. Rejects when the store cannot be read. */
  async usage(query: UsageQuery): Promise<readonly UsageSum[]> {
    const unit = this.usageUnit(query);
    const whole = { ...query, from: startOf(unit, query.from) };
    const sums = new UsageSums(whole);
    if (this.#book === undefined) sums.add(this.#usage.values());
    else {
      const { from, until } = whole;
      for await (const rows of this.#book.read(unit, from, until)) {
        sums.add(rows);
      }
    }
    return sums.read();
  }

  /** Returns the unit of the times of a query. */
  usageUnit({ from, per }: Pick<UsageQuery, "from" | "per">): UsageUnit {
    if (this.#book === undefined) return "hour";
    const hasHours = from >= this.#clock.now() - HOURS_OF_STORE_MS;
    return hasHours && per === undefined ? "hour" : "day";
  }

  async close(): Promise<void> {
    await this.#book?.close();
  }
}

/** Buckets of one length, the last of which are kept. */
class TrafficRing {
  readonly #stepMs: number;
  readonly #buckets: (TrafficBucket | undefined)[];

  constructor(
    { stepMs, count }: { readonly stepMs: number; readonly count: number },
  ) {
    this.#stepMs = stepMs;
    this.#buckets = new Array(count).fill(undefined);
  }

  add(bucket: TrafficBucket, now: number): void {
    const start = bucket.start - bucket.start % this.#stepMs;
    const place = this.#placeOf(start);
    const known = this.#buckets[place];
    if (known?.start === start) return mergeBucket(known, bucket);
    // The bucket is too late, unless the clock was set back.
    if (known !== undefined && known.start > start && known.start <= now) {
      return;
    }
    const own = createBucket(start);
    mergeBucket(own, bucket);
    this.#buckets[place] = own;
  }

  /** Returns the buckets of the range that ends at `now`, in order; those without requests are empty. */
  read(now: number): readonly TrafficBucket[] {
    const last = now - now % this.#stepMs;
    return Array.from(this.#buckets, (_, index) => {
      const start = last - (this.#buckets.length - 1 - index) * this.#stepMs;
      const own = this.#buckets[this.#placeOf(start)];
      return own?.start === start ? own : createBucket(start);
    });
  }

  #placeOf(start: number): number {
    return Math.floor(start / this.#stepMs) % this.#buckets.length;
  }
}
