import { type Clock, systemClock } from "../../base/clock.ts";
import { longestWait } from "../budget.ts";
import type {
  DescriptorReading,
  DescriptorUse,
  GlobalLimiter,
  LimiterDecision,
  LimiterFailure,
} from "../global_limiter.ts";
import type { KvBucket } from "./kv_bucket.ts";
import { KvBucketTable } from "./kv_bucket_table.ts";
import { describeBuckets, type KvLimiterState } from "./kv_description.ts";
import { FirstLooks } from "./kv_first_looks.ts";
import { type KvHandle, openKv } from "./kv_handle.ts";
import { KvStore } from "./kv_store.ts";
import { KvSweeper } from "./kv_sweeper.ts";

/** How to share budgets over Deno KV. */
export interface KvLimiterOptions {
  /** File that processes of this machine share, `:memory:`, or URL of a KV Connect server. */
  readonly path: string;
  /** Budgets of different domains are different budgets. */
  readonly domain: string;
  readonly clock?: Clock;
  /** How long a request waits for the store; 250 by default. */
  readonly waitMs?: number;
  /** Largest lease in requests, 4096 by default. What a killed process loses. */
  readonly maxLease?: number;
  /** Budgets kept in memory, 10 000 by default; the least recently used goes first, the store still knows it. */
  readonly maxBudgets?: number;
  /** A number from 0 up to 1, for the jitter of retries. */
  readonly random?: () => number;
  /** Opens the store; `openKv` by default. */
  readonly open?: (path: string) => Promise<KvHandle>;
}

/** How long closing waits for the store. */
const CLOSE_MS = 2000;

/**
 * Budgets that processes share over Deno KV. Windows go by the wall clock that is furthest ahead, and only move forward.
 *
 * Requests: a process takes a lease from the record before it uses it, so no more than base + burst are admitted in a window. Where
 * clocks differ, a process that is behind may still use its lease when the others have opened the next window, and one that is ahead may
 * open that early; then the others follow its clock. Within a time T at most `capacity * (2 + (T + skew) / window)` are admitted; the
 * record of a process that is more than ten minutes behind may be deleted too early. A lease is at most an
 * eighth of what is left and follows the rate of requests; what is not needed goes back within 200 ms, so that all of the budget can be
 * used. A process that is killed loses its lease until the window ends: at most `min(maxLease, capacity / 8)`, and one for each request
 * that waited.
 *
 * Tokens: admitted while something is left as far as the process knows. It knows its own debits at once and those of others D later;
 * D is 0.2 s under load, at most 1.1 s, and the time that the store takes. So at most `T * (F + A)` tokens are used beyond the budget:
 * T the largest debit of a request, F the requests in flight in all processes when the budget runs out, A those that the other processes
 * admit within D of it. Alone, a process exceeds it by its requests in flight only.
 *
 * A store that cannot be used yields failures and is tried again on demand, at most once a second.
 */
export class KvLimiter implements GlobalLimiter {
  readonly #domain: string;
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #store: KvStore;
  readonly #table: KvBucketTable;
  readonly #sweeper: KvSweeper;
  #waits = 0;
  #closing: Promise<void> | undefined;

  constructor(options: KvLimiterOptions) {
    const { path, clock = systemClock, open = openKv } = options;
    const { domain, maxLease = 4096, maxBudgets = 10_000 } = options;
    const random = options.random ?? Math.random;
    const store = new KvStore({ open: () => open(path), clock, random });
    this.#domain = domain;
    this.#clock = clock;
    this.#waitMs = options.waitMs ?? 250;
    this.#store = store;
    this.#sweeper = new KvSweeper(clock, maxBudgets * 2);
    this.#table = new KvBucketTable({
      domain,
      maxBudgets,
      store,
      firstLooks: new FirstLooks(clock, this.#waitMs),
      clock,
      maxLease,
    });
  }

  /** Opens the store ahead of the first request, which then need not wait for it. Rejects when it cannot be opened now. */
  open(): Promise<void> {
    return this.#store.open();
  }

  admit(
    uses: readonly DescriptorUse[],
  ): LimiterDecision | Promise<LimiterDecision> {
    if (this.#closing !== undefined) return failed("the limiter is closed");
    const buckets = this.#table.findAll(uses);
    return this.#decide(buckets, uses) ?? this.#failAtOnce(buckets) ??
      this.#admitLater(buckets, uses);
  }

  debit(uses: readonly DescriptorUse[], tokens: number): void {
    if (!(tokens > 0) || this.#closing !== undefined) return;
    for (const bucket of this.#table.findAll(uses)) {
      if (bucket.budget.unit !== "tokens") continue;
      bucket.debit(tokens);
      this.#sweeper.watch(bucket);
    }
  }

  /** What was charged in one window is given back in the same. */
  refund(uses: readonly DescriptorUse[], takenAt: number | undefined): void {
    if (takenAt === undefined) return;
    for (const bucket of this.#table.findAll(uses)) {
      if (bucket.budget.unit !== "requests") continue;
      bucket.refund(takenAt);
      this.#sweeper.watch(bucket);
    }
  }

  /** What is known of the budgets used last, at most `count` of them. */
  describe(count = 100): KvLimiterState {
    return {
      domain: this.#domain,
      error: this.#store.lastError,
      kept: this.#table.size,
      counters: {
        ...this.#store.counters,
        waits: this.#waits,
        evicted: this.#table.evicted,
        lostDebits: this.#sweeper.lostDebits,
      },
      budgets: describeBuckets(this.#table.latest(count)),
    };
  }

  /** Gives leases back, settles debits, closes the store. Takes at most two seconds. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The decision that needs no waiting; `undefined` when a budget has to be asked for. */
  #decide(
    buckets: readonly KvBucket[],
    uses: readonly DescriptorUse[],
  ): LimiterDecision | undefined {
    const now = this.#clock.monotonic();
    let isKnown = true;
    for (const bucket of buckets) {
      const standing = bucket.check(now);
      if (standing === "exhausted") return this.#refuse(buckets, uses, now);
      if (standing === "unknown") isKnown = false;
    }
    if (!isKnown) return undefined;
    for (const bucket of buckets) {
      bucket.take();
      if (bucket.isDirty) this.#sweeper.watch(bucket);
    }
    const readings = this.#readAll(buckets, uses, now);
    return { verdict: "admitted", takenAt: now, readings };
  }

  #refuse(
    buckets: readonly KvBucket[],
    uses: readonly DescriptorUse[],
    now: number,
  ): LimiterDecision {
    const readings = this.#readAll(buckets, uses, now);
    const refusing = readings.filter((_, place) =>
      buckets[place]?.check(now) === "exhausted"
    );
    return { verdict: "refused", readings, refusedBy: longestWait(refusing) };
  }

  #readAll(
    buckets: readonly KvBucket[],
    uses: readonly DescriptorUse[],
    now: number,
  ): DescriptorReading[] {
    const isOwn = buckets.length === uses.length;
    return buckets.map((bucket, place) => {
      const use = isOwn ? uses[place] : this.#table.firstUse(bucket, uses);
      const { unit, limit, remaining, resetMs, windowMs } = bucket.read(now);
      const index = use?.index ?? 0;
      return { index, unit, limit, remaining, resetMs, windowMs };
    });
  }

  /** A store that is known not to answer is not waited for. */
  #failAtOnce(buckets: readonly KvBucket[]): LimiterFailure | undefined {
    const { error } = this.#store;
    if (error !== undefined) return { verdict: "failed", error };
    const isSilent = buckets.some(({ silentMs }) => silentMs >= this.#waitMs);
    return isSilent ? failed("the store does not answer") : undefined;
  }

  async #admitLater(
    buckets: readonly KvBucket[],
    uses: readonly DescriptorUse[],
  ): Promise<LimiterDecision> {
    this.#waits++;
    const deadline = this.#clock.monotonic() + this.#waitMs;
    for (;;) {
      const now = this.#clock.monotonic();
      const unknown = buckets.filter((bucket) =>
        bucket.check(now) === "unknown"
      );
      const leftMs = deadline - now;
      if (leftMs <= 0 || !await this.#askAll(unknown, leftMs)) {
        return failed(`the store did not answer within ${this.#waitMs} ms`);
      }
      if (this.#closing !== undefined) return failed("the limiter is closed");
      const broken = unknown.find(({ error }) => error !== undefined);
      if (broken !== undefined) {
        return { verdict: "failed", error: broken.error };
      }
      const decision = this.#decide(buckets, uses);
      if (decision !== undefined) return decision;
    }
  }

  /** Says whether all of them came back in time. */
  #askAll(buckets: readonly KvBucket[], withinMs: number): Promise<boolean> {
    const answers = buckets.map((bucket) => {
      const answered = bucket.ask();
      // What it gets while nobody waits any more has to go back.
      this.#sweeper.watch(bucket);
      return answered;
    });
    return this.#isOverWithin(withinMs, Promise.all(answers));
  }

  async #close(): Promise<void> {
    this.#sweeper.stop();
    const isFlushed = await this.#isOverWithin(CLOSE_MS, this.#flush());
    if (!isFlushed) void this.#store.close();
  }

  async #flush(): Promise<void> {
    await this.#sweeper.flush();
    await this.#store.close();
  }

  /** @param work Never rejects. */
  #isOverWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.#clock.setTimer(() => resolve(false), ms);
      void work.then(() => {
        cancel();
        resolve(true);
      });
    });
  }
}

function failed(reason: string): LimiterFailure {
  const error = new Error(`Cannot ask for a global budget: ${reason}`);
  return { verdict: "failed", error };
}
