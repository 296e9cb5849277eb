import { type Clock, systemClock } from "../../base/clock.ts";
import { amountOf, longestWait, noUse, type Use } from "../budget/budget.ts";
import type {
  DescriptorReading,
  DescriptorUse,
  ExchangeCounts,
  GlobalLimit,
  HeldUse,
  LimiterDecision,
  LimiterFailure,
  LimitState,
  StoreLimiter,
} from "../limiter/global_limiter.ts";
import type { LimitSelection } from "../local/counter_store.ts";
import type { KvBucket } from "./kv_bucket.ts";
import { KvBucketTable } from "./kv_bucket_table.ts";
import {
  describeBuckets,
  type KvBudgetState,
  readKvLimit,
  readOwnedBudgets,
  selectBudgets,
} from "./kv_description.ts";
import { FirstReadLimiter } from "./kv_first_reads.ts";
import { isOverWithin } from "./kv_exchange.ts";
import type { KvHandle } from "../../kv/kv_handle.ts";
import { KvReserver } from "./kv_reserver.ts";
import { KvStore } from "../../kv/kv_store.ts";
import { KvSweeper } from "./kv_sweeper.ts";

/** Options of a limiter over Deno KV. */
export interface KvLimiterOptions {
  /** File shared by processes of this machine, `:memory:`, or URL of a KV Connect server. */
  readonly path: string;
  /** Budgets of different domains are different budgets. */
  readonly domain: string;
  readonly clock?: Clock;
  /** Milliseconds that a request waits for the store; 250 by default. */
  readonly waitMs?: number;
  /** Largest lease in requests, 4096 by default; lost when the process is killed. */
  readonly maxLease?: number;
  /** Budgets kept in memory, 10,000 by default; the least recently used ones are evicted and stay in the store. */
  readonly maxBudgets?: number;
  /** Returns a number from 0 up to 1, for the jitter of retries. */
  readonly random?: () => number;
  /** Opens the store; `openKv` by default. */
  readonly open?: (path: string) => Promise<KvHandle>;
}

/** Time that closing waits for the store. */
const CLOSE_MS = 2000;

/**
 * Budgets that processes share over Deno KV. Windows go by the wall clock that is furthest ahead, and only move forward.
 *
 * Requests: a process takes a lease from the record before using it, so at most base + burst are admitted in a window. If clocks
 * differ, a process whose clock is behind may still use its lease after the others have opened the next window, and a process whose
 * clock is ahead may open that window early; then the others follow its clock. In a time T at most
 * `capacity * (2 + (T + skew) / window)` are admitted. The record of a process that is more than ten minutes behind may be deleted too
 * early. A lease is at most an eighth of what is left and follows the rate of requests; unused requests are returned within 200 ms, so
 * the whole budget can be used. The lease of a killed process is lost until the window ends: at most `min(maxLease, capacity / 8)`, and
 * one for each waiting request.
 *
 * Tokens: a process admits requests while it knows of tokens left. It knows its own debits at once and those of others after a delay D:
 * 0.2 s under load, at most 1.1 s, plus the time of the store. So at most `T * (F + A)` tokens are used beyond the budget, where T is
 * the largest debit of a request, F the requests in flight in all processes when the budget runs out, and A the requests that the other
 * processes admit within D of that. A single process exceeds the budget only by its requests in flight.
 *
 * While the store is not available, decisions fail; it is retried on demand, at most once a second.
 */
export class KvLimiter implements StoreLimiter {
  readonly domain: string;
  readonly storeName = "KV";
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #store: KvStore;
  readonly #table: KvBucketTable;
  readonly #sweeper: KvSweeper;
  readonly #reserver: KvReserver;
  #waits = 0;
  #closing: Promise<void> | undefined;

  constructor(options: KvLimiterOptions) {
    const { path, clock = systemClock, random, open } = options;
    const { domain, maxLease = 4096, maxBudgets = 10_000 } = options;
    const store = new KvStore({ store: path, clock, random, open });
    this.domain = domain;
    this.#clock = clock;
    this.#waitMs = options.waitMs ?? 250;
    this.#store = store;
    this.#sweeper = new KvSweeper(clock, maxBudgets * 2);
    this.#reserver = new KvReserver({
      clock,
      waitMs: this.#waitMs,
      sweeper: this.#sweeper,
    });
    this.#table = new KvBucketTable({
      domain,
      maxBudgets,
      store,
      firstReads: new FirstReadLimiter(clock, this.#waitMs),
      clock,
      maxLease,
    });
  }

  /** Opens the store before the first request. Rejects when it cannot be opened now. */
  open(): Promise<void> {
    return this.#store.open();
  }

  /** Reads from the store; rejects while that fails. */
  probe(): Promise<void> {
    return this.#store.update(["limit", "probe"], () => undefined);
  }

  admit(
    uses: readonly DescriptorUse[],
    expected = noUse,
  ): LimiterDecision | Promise<LimiterDecision> {
    if (this.#closing !== undefined) return failed("the limiter is closed");
    const buckets = this.#table.findAll(uses);
    const decision = this.#decide(buckets, uses) ??
      this.#failImmediately(buckets) ?? this.#admitLater(buckets, uses);
    return this.#reserver.isNeeded(buckets, expected)
      ? this.#reserve(buckets, uses, expected, decision)
      : decision;
  }

  debit(uses: readonly DescriptorUse[], use: Use, held?: HeldUse): void {
    if (this.#closing !== undefined) return;
    if (held !== undefined) this.#reserver.end(this.#table.findAll(uses), held);
    for (const bucket of this.#table.findAll(uses)) {
      const amount = amountOf(bucket.budget.unit, use);
      if (!(amount > 0)) continue;
      bucket.debit(amount);
      this.#sweeper.watch(bucket);
    }
  }

  /** Refunds a request if the window in which it was charged is still open. */
  refund(uses: readonly DescriptorUse[], held: HeldUse): void {
    const { takenAt } = held;
    if (takenAt === undefined) return;
    this.#reserver.end(this.#table.findAll(uses), held);
    for (const bucket of this.#table.findAll(uses)) {
      if (bucket.budget.unit !== "requests") continue;
      bucket.refund(takenAt);
      this.#sweeper.watch(bucket);
    }
  }

  get storeError(): unknown {
    return this.#store.lastError;
  }

  get exchanges(): ExchangeCounts {
    const { writes, conflicts, locks, failures } = this.#store.counters;
    return {
      waits: this.#waits,
      exchanges: {
        written: writes,
        conflict: conflicts,
        locked: locks,
        failed: failures,
      },
      lostTokens: this.#sweeper.lostDebits,
    };
  }

  /** Budgets in memory, the least recently used one first. */
  get budgets(): readonly KvBudgetState[] {
    return describeBuckets(this.#table.latest(Infinity));
  }

  readLimits(limits: readonly GlobalLimit[]): readonly LimitState[] {
    const { budgets } = this;
    return [
      ...limits.map((limit) => readKvLimit(limit, budgets)),
      ...readOwnedBudgets(budgets),
    ];
  }

  async reset(
    limits: readonly GlobalLimit[],
    selection: LimitSelection,
  ): Promise<number> {
    const isSelected = selectBudgets(limits, selection);
    const selected = this.#table.latest(Infinity).filter(isSelected);
    await Promise.all(selected.map((bucket) => bucket.reset()));
    return selected.length;
  }

  /** Returns leases, settles debits and closes the store. Takes at most two seconds. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Decides without waiting; returns `undefined` when a record has to be read first. */
  #decide(
    buckets: readonly KvBucket[],
    uses: readonly DescriptorUse[],
  ): LimiterDecision | undefined {
    const now = this.#clock.monotonic();
    let isKnown = true;
    for (const bucket of buckets) {
      const status = bucket.check(now);
      if (status === "exhausted" && bucket.budget.isSoft !== true) {
        return this.#reject(buckets, uses, now);
      }
      if (status === "unknown") isKnown = false;
    }
    if (!isKnown) return undefined;
    for (const bucket of buckets) {
      if (bucket.check(now) === "open") bucket.take();
      if (bucket.isDirty) this.#sweeper.watch(bucket);
    }
    const readings = this.#readAll(buckets, uses, now);
    return { verdict: "admitted", takenAt: now, readings };
  }

  /** Reserves what an admitted request may use in each budget, or in none. */
  async #reserve(
    buckets: readonly KvBucket[],
    uses: readonly DescriptorUse[],
    expected: Use,
    undecided: LimiterDecision | Promise<LimiterDecision>,
  ): Promise<LimiterDecision> {
    const decision = await undecided;
    if (decision.verdict !== "admitted") return decision;
    const problem = await this.#reserver.reserve(buckets, expected);
    const takenAt = this.#clock.monotonic();
    if (problem !== undefined) {
      this.refund(uses, { takenAt: decision.takenAt });
    }
    if (problem === "no response") return this.#tooLate();
    const readings = this.#readAll(buckets, uses, takenAt);
    if (problem === undefined) return { ...decision, takenAt, readings };
    const refusedBy = readings[buckets.indexOf(problem.bucket)];
    const { needed } = problem;
    return { verdict: "refused", readings, refusedBy, needed };
  }

  #tooLate(): LimiterFailure {
    return failed(`the store did not respond within ${this.#waitMs} ms`);
  }

  #reject(
    buckets: readonly KvBucket[],
    uses: readonly DescriptorUse[],
    now: number,
  ): LimiterDecision {
    const readings = this.#readAll(buckets, uses, now);
    const rejecting = readings.filter((_, place) =>
      buckets[place]?.check(now) === "exhausted"
    );
    return { verdict: "refused", readings, refusedBy: longestWait(rejecting) };
  }

  #readAll(
    buckets: readonly KvBucket[],
    uses: readonly DescriptorUse[],
    now: number,
  ): DescriptorReading[] {
    const isOwn = buckets.length === uses.length;
    return buckets.map((bucket, place) => {
      const use = isOwn ? uses[place] : this.#table.firstUse(bucket, uses);
      return { index: use?.index ?? 0, ...bucket.read(now) };
    });
  }

  /** Fails without waiting when the store is known not to respond. */
  #failImmediately(buckets: readonly KvBucket[]): LimiterFailure | undefined {
    const { error } = this.#store;
    if (error !== undefined) return { verdict: "failed", error };
    const isSilent = buckets.some(({ silentMs }) => silentMs >= this.#waitMs);
    return isSilent ? failed("the store does not respond") : undefined;
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
      if (leftMs <= 0 || !await this.#requestAll(unknown, leftMs)) {
        return this.#tooLate();
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

  /** Returns whether all exchanges ended in time. */
  #requestAll(
    buckets: readonly KvBucket[],
    withinMs: number,
  ): Promise<boolean> {
    const exchanges = buckets.map((bucket) => {
      const done = bucket.request();
      // A lease that arrives after the request timed out has to be returned.
      this.#sweeper.watch(bucket);
      return done;
    });
    return isOverWithin(this.#clock, withinMs, Promise.all(exchanges));
  }

  async #close(): Promise<void> {
    this.#sweeper.stop();
    const isFlushed = await isOverWithin(this.#clock, CLOSE_MS, this.#flush());
    if (!isFlushed) void this.#store.close();
  }

  async #flush(): Promise<void> {
    await this.#sweeper.flush();
    await this.#store.close();
  }
}

function failed(reason: string): LimiterFailure {
  const error = new Error(`Cannot read a global budget: ${reason}`);
  return { verdict: "failed", error };
}
