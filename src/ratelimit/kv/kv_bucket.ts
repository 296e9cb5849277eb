import type { Clock } from "../../base/clock.ts";
import type { BudgetDefinition, BudgetReading } from "../budget.ts";
import { PendingCharges } from "./kv_charges.ts";
import { KvExchange } from "./kv_exchange.ts";
import type { FirstLooks } from "./kv_first_looks.ts";
import { Lease } from "./kv_lease.ts";
import {
  type BudgetRecord,
  type Charge,
  DamagedRecord,
  expiryOf,
  isOver,
  readRecord,
  settle,
  take,
} from "./kv_record.ts";
import { type Moment, SeenRecord } from "./kv_seen_record.ts";
import type { KvStore } from "./kv_store.ts";

/** What a bucket can say without asking the store. */
export type Standing = "open" | "exhausted" | "unknown";

/** Which budget a bucket is a part of, and what it needs to be one. */
export interface KvBucketOptions {
  readonly budget: BudgetDefinition;
  readonly entries: readonly (readonly [key: string, value: string])[];
  /** Of the record. */
  readonly key: Deno.KvKey;
  readonly store: KvStore;
  readonly firstLooks: FirstLooks;
  readonly clock: Clock;
  /** Largest lease, in requests. */
  readonly maxLease: number;
}

/** How old the state of an exhausted budget of requests may get: others may give leases back. */
const EXHAUSTED_LOOK_MS = 50;
/** How old the state of a token budget may get before it is looked at in the background, and before a request waits for that. */
const TOKEN_LOOK_MS = 100;
const TOKEN_STALE_MS = 1000;

/**
 * This process's part of one global budget. Of requests it holds a lease; of tokens it knows what the record said last, less what it has
 * not settled yet. At most one exchange with the store is under way; it does whatever is due.
 */
export class KvBucket {
  readonly budget: BudgetDefinition;
  readonly entries: KvBucketOptions["entries"];
  readonly #options: KvBucketOptions;
  readonly #lease: Lease;
  readonly #charges = new PendingCharges();
  readonly #seen: SeenRecord;
  readonly #exchange: KvExchange;
  /** Requests that wait for the exchange. */
  #waiting = 0;
  #shouldFill = false;

  constructor(options: KvBucketOptions) {
    this.budget = options.budget;
    this.entries = options.entries;
    this.#options = options;
    this.#lease = new Lease(options.maxLease);
    this.#seen = new SeenRecord(options.budget, options.clock);
    this.#exchange = new KvExchange(() => this.#runExchange(), options.clock);
  }

  /** Whether the store ever told about it. */
  get isKnown(): boolean {
    return this.#seen.isKnown;
  }

  /** Requests that may still be admitted without asking the store. */
  get leased(): number {
    return this.#lease.held;
  }

  /** Tokens used that the record does not know yet. */
  get pendingDebits(): number {
    return Math.max(0, this.#charges.total);
  }

  /** Why the last exchange failed; `undefined` once one works. */
  get error(): unknown {
    return this.#exchange.error;
  }

  /** Whether the store has something to learn. */
  get isDirty(): boolean {
    return this.#lease.held > 0 || !this.#charges.isEmpty ||
      this.#exchange.isUnderWay;
  }

  /** For how long the store has not answered what it was asked. */
  get silentMs(): number {
    return this.#exchange.silentMs;
  }

  /** Whether a request may pass now, at monotonic time `now`; looks at the record in the background when its state gets old. */
  check(now: number): Standing {
    if (!this.#seen.isOpen(now)) return "unknown";
    if (this.#lease.held > 0) return "open";
    if (this.budget.unit === "tokens") return this.#checkTokens(now);
    if (this.#seen.available > 0) return "unknown";
    if (this.#seen.ageMs(now) >= EXHAUSTED_LOOK_MS) void this.#exchange.start();
    return "exhausted";
  }

  /** Charges a request that `check` called open. */
  take(): void {
    if (this.budget.unit === "tokens") return;
    this.#lease.use();
    if (this.#exchange.isUnderWay) return;
    if (!this.#lease.isLow(this.#seen.available)) return;
    this.#shouldFill = true;
    void this.#exchange.start();
  }

  /** Undoes what `take` did at `takenAt`. */
  refund(takenAt: number): void {
    if (this.#seen.isWindowOf(takenAt)) this.#lease.undo();
  }

  debit(tokens: number): void {
    const window = this.#seen.isOpen() ? this.#seen.openedAt : undefined;
    this.#charges.add(window, tokens);
  }

  /** Asks the store on behalf of a request; resolves when it answered or failed. */
  async ask(): Promise<void> {
    this.#waiting++;
    await this.#exchange.start();
    this.#waiting--;
  }

  /** Settles debits, gives back what nobody needs. Called at a steady pace. */
  sweep(): void {
    if (this.#exchange.isUnderWay) return;
    this.#giveBack(this.#lease.sweep());
    if (!this.#charges.isEmpty) void this.#exchange.start();
  }

  /** Settles every debit, gives everything back. */
  async flush(): Promise<void> {
    await this.#exchange.end();
    this.#giveBack(this.#lease.held);
    if (!this.#charges.isEmpty) await this.#exchange.start();
  }

  /** The budget as far as this process knows. */
  read(now: number = this.#options.clock.monotonic()): BudgetReading {
    return this.#seen.read(this.#lease.held - this.#charges.total, now);
  }

  #checkTokens(now: number): Standing {
    const { available } = this.#seen;
    const ageMs = this.#seen.ageMs(now);
    // Tokens are never given back, so exhausted it stays until the reset.
    if (available - this.#charges.total <= 0) return "exhausted";
    if (ageMs >= TOKEN_STALE_MS) return "unknown";
    if (ageMs >= TOKEN_LOOK_MS) void this.#exchange.start();
    return "open";
  }

  #giveBack(units: number): void {
    // A store that is down would lose them, and requests may need them.
    if (units === 0 || this.#options.store.error !== undefined) return;
    this.#lease.drop(units);
    this.#charges.add(this.#seen.openedAt, -units);
  }

  async #runExchange(): Promise<void> {
    const { firstLooks } = this.#options;
    try {
      // What was used is told at once.
      const isFirst = !this.#seen.isKnown && this.#charges.isEmpty;
      if (isFirst) await firstLooks.run(() => this.#update());
      else await this.#update();
    } finally {
      this.#shouldFill = false;
    }
  }

  async #update(): Promise<void> {
    // What is left of the lease may still count as saved up in its window.
    if (!this.#seen.isOpen()) this.#giveBack(this.#lease.held);
    const { key, store } = this.#options;
    const charges = this.#charges.begin();
    let settled: Settled | undefined;
    try {
      await store.update(key, (value) => {
        const before = readRecord(value);
        settled = before === "damaged"
          ? this.#useUp()
          : this.#settle(before, charges);
        const { record } = settled;
        if (record === before) return undefined;
        return record === undefined
          ? { value: null, expireInMs: this.budget.windowMs }
          : { value: record, expireInMs: expiryOf(record, this.budget) };
      });
    } catch (error) {
      this.#charges.restore();
      throw error;
    }
    this.#charges.settled();
    if (settled === undefined) return;
    this.#adopt(settled);
    if (settled.wasDamaged) throw new DamagedRecord();
  }

  /** Nobody knows what is left, so nothing is until the next window. */
  #useUp(): Settled {
    const at = this.#seen.meet(undefined);
    const record = { openedAt: at.time, available: 0 };
    return { record, granted: 0, at, wasDamaged: true };
  }

  #settle(
    before: BudgetRecord | undefined,
    charges: readonly Charge[],
  ): Settled {
    const { budget } = this;
    const at = this.#seen.meet(before);
    const { time } = at;
    const isAsked = this.#waiting > 0;
    const record = settle(before, budget, charges, { time, isAsked });
    if (record === undefined || isOver(record, budget, time)) {
      return { record, granted: 0, at };
    }
    const granted = this.#sizeLease(record, at.now);
    return granted === 0
      ? { record, granted, at }
      : { record: take(record, budget, granted), granted, at };
  }

  #sizeLease({ openedAt, available }: BudgetRecord, now: number): number {
    if (this.budget.unit === "tokens") return 0;
    if (openedAt !== this.#seen.openedAt) this.#lease.end();
    if (this.#waiting === 0 && !this.#shouldFill) return 0;
    return this.#lease.sizeOf(available, { waiting: this.#waiting, now });
  }

  #adopt({ record, granted, at }: Settled): void {
    if (record?.openedAt !== this.#seen.openedAt) this.#lease.end();
    this.#seen.see(record, at);
    if (granted > 0) this.#lease.fill(granted, this.#options.clock.monotonic());
  }
}

/** What became of a record, and when. */
interface Settled {
  readonly record: BudgetRecord | undefined;
  readonly granted: number;
  readonly at: Moment;
  readonly wasDamaged?: boolean;
}
