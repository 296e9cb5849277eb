import type { Clock } from "../base/clock.ts";
import type { BudgetDefinition, BudgetReading } from "./budget.ts";
import { PendingCharges } from "./kv_charges.ts";
import { Lease } from "./kv_lease.ts";
import type { FirstLooks } from "./kv_first_looks.ts";
import {
  type BudgetRecord,
  type Charge,
  DamagedRecord,
  enterWindow,
  expiryOf,
  isOver,
  isUnused,
  lateUse,
  readRecord,
  settleWindow,
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
 * This process's part of one shared budget. Of requests it holds a lease; of tokens it knows what the record said last, less what it has
 * not settled yet. At most one exchange with the store is under way; it does whatever is due.
 */
export class KvBucket {
  readonly budget: BudgetDefinition;
  readonly entries: KvBucketOptions["entries"];
  readonly #key: Deno.KvKey;
  readonly #store: KvStore;
  readonly #firstLooks: FirstLooks;
  readonly #clock: Clock;
  readonly #lease: Lease;
  readonly #charges = new PendingCharges();
  readonly #seen: SeenRecord;
  /** Monotonic time. */
  #askedAt = -Infinity;
  #waiting = 0;
  #shouldFill = false;
  #exchange: Promise<void> | undefined;
  #error: unknown;

  constructor(options: KvBucketOptions) {
    this.budget = options.budget;
    this.entries = options.entries;
    this.#key = options.key;
    this.#store = options.store;
    this.#firstLooks = options.firstLooks;
    this.#clock = options.clock;
    this.#lease = new Lease(options.maxLease);
    this.#seen = new SeenRecord(options.budget, options.clock);
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
    return this.#error;
  }

  /** Whether the store has something to learn. */
  get isDirty(): boolean {
    return this.#lease.held > 0 || !this.#charges.isEmpty ||
      this.#exchange !== undefined;
  }

  /** For how long the store has not answered what it was asked. */
  get silentMs(): number {
    return this.#exchange === undefined
      ? 0
      : this.#clock.monotonic() - this.#askedAt;
  }

  /** Whether a request may pass now, at monotonic time `now`; looks at the record in the background when its state gets old. */
  check(now: number): Standing {
    if (!this.#seen.isOpen(now)) return "unknown";
    if (this.#lease.held > 0) return "open";
    if (this.budget.unit === "tokens") return this.#checkTokens(now);
    if (this.#seen.available > 0) return "unknown";
    if (this.#seen.ageMs(now) >= EXHAUSTED_LOOK_MS) void this.#startExchange();
    return "exhausted";
  }

  /** Charges a request that `check` called open. */
  take(): void {
    if (this.budget.unit === "tokens") return;
    this.#lease.use();
    if (this.#exchange !== undefined) return;
    if (!this.#lease.isLow(this.#seen.available)) return;
    this.#shouldFill = true;
    void this.#startExchange();
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
    await this.#startExchange();
    this.#waiting--;
  }

  /** Settles debits, gives back what nobody needs. Called at a steady pace. */
  sweep(): void {
    if (this.#exchange !== undefined) return;
    this.#giveBack(this.#lease.sweep());
    if (!this.#charges.isEmpty) void this.#startExchange();
  }

  /** Settles every debit, gives everything back. */
  async flush(): Promise<void> {
    await this.#exchange;
    this.#giveBack(this.#lease.held);
    if (!this.#charges.isEmpty) await this.#startExchange();
  }

  /** The budget as far as this process knows. */
  read(now: number = this.#clock.monotonic()): BudgetReading {
    return this.#seen.read(this.#lease.held - this.#charges.total, now);
  }

  #checkTokens(now: number): Standing {
    const { available } = this.#seen;
    const ageMs = this.#seen.ageMs(now);
    // Tokens are never given back, so exhausted it stays until the reset.
    if (available - this.#charges.total <= 0) return "exhausted";
    if (ageMs >= TOKEN_STALE_MS) return "unknown";
    if (ageMs >= TOKEN_LOOK_MS) void this.#startExchange();
    return "open";
  }

  #giveBack(units: number): void {
    // A store that is down would lose them, and requests may need them.
    if (units === 0 || this.#store.error !== undefined) return;
    this.#lease.drop(units);
    this.#charges.add(this.#seen.openedAt, -units);
  }

  /** Never rejects. */
  #startExchange(): Promise<void> {
    this.#exchange ??= this.#runExchange().finally(() => {
      this.#exchange = undefined;
    });
    return this.#exchange;
  }

  async #runExchange(): Promise<void> {
    this.#askedAt = this.#clock.monotonic();
    try {
      // What was used is told at once.
      const isFirst = !this.#seen.isKnown && this.#charges.isEmpty;
      if (isFirst) await this.#firstLooks.run(() => this.#update());
      else await this.#update();
      this.#error = undefined;
    } catch (error) {
      this.#error = error;
    }
    this.#shouldFill = false;
  }

  async #update(): Promise<void> {
    // What is left of the lease may still count as saved up in its window.
    if (!this.#seen.isOpen()) this.#giveBack(this.#lease.held);
    const charges = this.#charges.begin();
    let settled: Settled | undefined;
    try {
      await this.#store.update(this.#key, (value) => {
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
    let record = settleWindow(before, budget, charges);
    const late = lateUse(before, budget, charges);
    // Only what is counted opens a window.
    if (late !== 0 || this.#waiting > 0) {
      record = enterWindow(record, budget, at.time);
    } else if (record !== before && record && isUnused(record, budget)) {
      record = undefined;
    }
    if (record === undefined || isOver(record, budget, at.time)) {
      return { record, granted: 0, at };
    }
    if (late !== 0) record = take(record, budget, late);
    const granted = this.#sizeLease(record, at.now);
    if (granted > 0) record = take(record, budget, granted);
    return { record, granted, at };
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
    if (granted > 0) this.#lease.fill(granted, this.#clock.monotonic());
  }
}

/** What became of a record, and when. */
interface Settled {
  readonly record: BudgetRecord | undefined;
  readonly granted: number;
  readonly at: Moment;
  readonly wasDamaged?: boolean;
}
