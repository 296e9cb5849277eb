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

/** The traffic of the last 24 hours, of all threads: buckets of 15 seconds, a minute and 15 minutes. */
export class TrafficStore {
  readonly #startedAt: number;
  readonly #rings: Readonly<Record<TrafficRange, TrafficRing>>;

  /** @param now Milliseconds since the epoch. */
  constructor(now: number) {
    this.#startedAt = now;
    this.#rings = {
      "15m": new TrafficRing(rangeSteps["15m"]),
      "1h": new TrafficRing(rangeSteps["1h"]),
      "24h": new TrafficRing(rangeSteps["24h"]),
    };
  }

  /** Adds what a recorder has handed over. @param now Milliseconds since the epoch. */
  add(bucket: TrafficBucket, now: number): void {
    for (const range of trafficRanges) this.#rings[range].add(bucket, now);
  }

  /** Describes the traffic of a range that ends at `now`. */
  report(query: TrafficQuery, now: number): TrafficReport {
    const { stepMs } = rangeSteps[query.range];
    return describeTraffic(query, {
      now,
      stepMs,
      startedAt: this.#startedAt,
      buckets: this.#rings[query.range].read(now),
    });
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
