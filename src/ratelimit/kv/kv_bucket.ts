import type { Clock } from "../../base/clock.ts";
import {
  type BudgetDefinition,
  type BudgetReading,
  shownAmount,
  windowStart,
} from "../budget/budget.ts";
import { PendingCharges } from "./kv_charges.ts";
import { KvExchange } from "./kv_exchange.ts";
import type { FirstReadLimiter } from "./kv_first_reads.ts";
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
import {
  type Reservation,
  Reservations,
  type ReservationVerdicts,
} from "./kv_reservations.ts";
import type { KvStore } from "../../kv/kv_store.ts";

/** Status of a bucket without contacting the store; `unknown` requires it. */
export type BucketStatus = "open" | "exhausted" | "unknown";

/** Budget of a bucket, and the dependencies of the bucket. */
export interface KvBucketOptions {
  readonly budget: BudgetDefinition;
  readonly entries: readonly (readonly [key: string, value: string])[];
  /** Name of the limit, see `DescriptorUse`. */
  readonly name: string | undefined;
  /** See `DescriptorUse`. */
  readonly owner: string | undefined;
  /** Key of the record. */
  readonly key: Deno.KvKey;
  readonly store: KvStore;
  readonly firstReads: FirstReadLimiter;
  readonly clock: Clock;
  /** Largest lease, in requests. */
  readonly maxLease: number;
}

/** Age at which an exhausted request budget is read again: other processes may have returned leases. */
const EXHAUSTED_LOOK_MS = 50;
/** Ages at which a token budget is read in the background, and at which a request waits for that. */
const TOKEN_LOOK_MS = 100;
const TOKEN_STALE_MS = 1000;

/**
 * Part of a global budget that this process holds: of a request budget a lease, of a token budget the record as last read, less the
 * tokens that are not settled yet. At most one exchange with the store is in progress; it does everything that is due.
 */
export class KvBucket {
  readonly budget: BudgetDefinition;
  readonly entries: KvBucketOptions["entries"];
  readonly owner: string | undefined;
  readonly #options: KvBucketOptions;
  readonly #lease: Lease;
  readonly #charges = new PendingCharges();
  readonly #seen: SeenRecord;
  readonly #exchange: KvExchange;
  /** Requests waiting for the exchange. */
  #waiting = 0;
  #shouldFill = false;
  readonly #reservations = new Reservations();

  constructor(options: KvBucketOptions) {
    this.budget = options.budget;
    this.entries = options.entries;
    this.owner = options.owner;
    this.#options = options;
    this.#lease = new Lease(options.maxLease);
    this.#seen = new SeenRecord(options.budget, options.clock);
    this.#exchange = new KvExchange(() => this.#runExchange(), options.clock);
  }

  /** Name as `limits` shows it; those of budgets with an owner have it, such as `10 requests per hour, by team blue`. */
  get name(): string {
    const { name = "", entries, owner } = this.#options;
    return owner === undefined
      ? name
      : `${name} ${entries.map(([, value]) => value).join(", ")}`;
  }

  /** Identifies the record, which budgets share that differ in their numbers only. */
  get recordKey(): string {
    return this.#options.key.join("\n");
  }

  /** Reports whether the record was ever read. */
  get isKnown(): boolean {
    return this.#seen.isKnown;
  }

  /** Requests that can be admitted without contacting the store. */
  get leased(): number {
    return this.#lease.held;
  }

  /** Tokens used and not yet written to the record. */
  get pendingDebits(): number {
    return Math.max(0, this.#charges.total);
  }

  /** Error of the last exchange; `undefined` after a successful one. */
  get error(): unknown {
    return this.#exchange.error;
  }

  /** Reports whether something has to be written to the store. */
  get isDirty(): boolean {
    return this.#lease.isInUse || !this.#charges.isEmpty ||
      this.#exchange.isUnderWay;
  }

  /** Milliseconds since the exchange in progress started; 0 without one. */
  get silentMs(): number {
    return this.#exchange.silentMs;
  }

  /** Returns whether a request may pass at monotonic time `now`; reads the record in the background when its state gets old. */
  check(now: number): BucketStatus {
    if (!this.#seen.isOpen(now)) return "unknown";
    if (this.#lease.held > 0) return "open";
    if (this.budget.unit !== "requests") return this.#checkTokens(now);
    if (this.#seen.available > 0) return "unknown";
    if (this.#seen.ageMs(now) >= EXHAUSTED_LOOK_MS) void this.#exchange.start();
    return "exhausted";
  }

  /** Charges a request after `check` returned `open`. */
  take(): void {
    if (this.budget.unit !== "requests") return;
    this.#lease.use();
    if (this.#exchange.isUnderWay) return;
    if (!this.#lease.isLow(this.#seen.available)) return;
    this.#shouldFill = true;
    void this.#exchange.start();
  }

  /** Undoes a `take` at monotonic time `takenAt`. */
  refund(takenAt: number): void {
    if (this.#seen.isWindowOf(takenAt)) this.#lease.undo();
  }

  debit(tokens: number): void {
    const window = this.#seen.isOpen() ? this.#seen.openedAt : undefined;
    this.#charges.add(window, tokens);
  }

  /** Begins to take an amount from the record, if that much is left there; `decided` resolves also if the store fails. */
  reserve(
    amount: number,
  ): { readonly reservation: Reservation; readonly decided: Promise<void> } {
    const reservation = this.#reservations.add(amount);
    return { reservation, decided: this.#untilDecided(reservation) };
  }

  /** Returns an amount that was reserved at monotonic time `takenAt`, unless its window is over. */
  unreserve(amount: number, takenAt: number): void {
    this.#reservations.end(amount);
    if (!this.#seen.isWindowOf(takenAt)) return;
    this.#charges.add(this.#seen.openedAt, -amount);
  }

  /** Contacts the store on behalf of a request; resolves when the exchange succeeded or failed. */
  async request(): Promise<void> {
    this.#waiting++;
    await this.#exchange.start();
    this.#waiting--;
  }

  /** Settles debits and returns what the current rate does not need. Called at a steady pace. */
  sweep(): void {
    if (this.#exchange.isUnderWay) return;
    this.#returnLease(this.#lease.sweep());
    if (!this.#charges.isEmpty) void this.#exchange.start();
  }

  /** Makes the budget unused, for all processes. */
  async reset(): Promise<void> {
    await this.#exchange.end();
    const { key, store } = this.#options;
    await store.update(key, () => ({
      value: null,
      expireInMs: this.budget.windowMs,
    }));
    this.#lease.end();
    this.#charges.begin();
    this.#charges.settled();
    this.#seen.see(undefined, this.#seen.meet(undefined));
  }

  /** Settles all debits and returns the whole lease. */
  async flush(): Promise<void> {
    await this.#exchange.end();
    this.#returnLease(this.#lease.held);
    if (!this.#charges.isEmpty) await this.#exchange.start();
  }

  /** Returns the budget as far as this process knows. */
  read(now: number = this.#options.clock.monotonic()): BudgetReading {
    const reading = this.#seen.read(
      this.#lease.held - this.#charges.total,
      now,
    );
    if (this.budget.reserves !== true) return reading;
    const { held } = this.#reservations;
    return { ...reading, held: shownAmount(this.budget.unit, held) };
  }

  async #untilDecided(reservation: Reservation): Promise<void> {
    do {
      // An exchange in progress may have begun without it.
      await this.request();
    } while (
      reservation.isGranted === undefined && !reservation.isCancelled &&
      this.error === undefined
    );
    this.#reservations.delete(reservation);
  }

  #checkTokens(now: number): BucketStatus {
    const { available } = this.#seen;
    const ageMs = this.#seen.ageMs(now);
    // Tokens are never returned, so an exhausted budget stays exhausted until the reset.
    if (available - this.#charges.total <= 0) return "exhausted";
    if (ageMs >= TOKEN_STALE_MS) return "unknown";
    if (ageMs >= TOKEN_LOOK_MS) void this.#exchange.start();
    return "open";
  }

  #returnLease(units: number): void {
    // A store that is down would lose them, and requests may still need them.
    if (units === 0 || this.#options.store.error !== undefined) return;
    this.#lease.drop(units);
    this.#charges.add(this.#seen.openedAt, -units);
  }

  async #runExchange(): Promise<void> {
    const { firstReads } = this.#options;
    try {
      // Charges are written at once.
      const isFirstRead = !this.#seen.isKnown && this.#charges.isEmpty;
      if (isFirstRead) await firstReads.run(() => this.#update());
      else await this.#update();
    } finally {
      this.#shouldFill = false;
    }
  }

  async #update(): Promise<void> {
    // The rest of the lease may still count toward the burst of the next window.
    if (!this.#seen.isOpen()) this.#returnLease(this.#lease.held);
    const { key, store } = this.#options;
    const charges = this.#charges.begin();
    let settled: Settled | undefined;
    try {
      await store.update(key, (value) => {
        const before = readRecord(value);
        settled = before === "damaged"
          ? this.#exhaust()
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

  /** A damaged record counts as used up until its window would end. */
  #exhaust(): Settled {
    const at = this.#seen.meet(undefined);
    const record = {
      openedAt: windowStart(this.budget, at.time),
      used: this.#capacity,
    };
    return { record, granted: 0, verdicts: noVerdicts, at, wasDamaged: true };
  }

  #settle(
    before: BudgetRecord | undefined,
    charges: readonly Charge[],
  ): Settled {
    const { budget } = this;
    const at = this.#seen.meet(before);
    const { time } = at;
    const isRequested = this.#waiting > 0;
    const settled = settle(before, budget, charges, { time, isRequested });
    if (settled === undefined || isOver(settled, budget, time)) {
      return { record: settled, granted: 0, verdicts: noVerdicts, at };
    }
    const { record, verdicts } = this.#reservations.decide(
      settled,
      this.#capacity,
    );
    const granted = this.#sizeLease(record);
    return granted === 0
      ? { record, granted, verdicts, at }
      : { record: take(record, granted), granted, verdicts, at };
  }

  #sizeLease({ openedAt, used }: BudgetRecord): number {
    if (this.budget.unit !== "requests") return 0;
    if (openedAt !== this.#seen.openedAt) this.#lease.end();
    if (this.#waiting === 0 && !this.#shouldFill) return 0;
    return this.#lease.missing(this.#capacity - used, this.#waiting);
  }

  get #capacity(): number {
    return this.budget.base + this.budget.burst;
  }

  #adopt({ record, granted, verdicts, at }: Settled): void {
    if (record?.openedAt !== this.#seen.openedAt) this.#lease.end();
    this.#seen.see(record, at);
    if (granted > 0) this.#lease.fill(granted);
    const unclaimed = this.#reservations.announce(verdicts);
    if (unclaimed > 0) this.#charges.add(this.#seen.openedAt, -unclaimed);
  }
}

const noVerdicts: ReservationVerdicts = new Map();

/** Result of an exchange: the record, what was taken from it, and the time. */
interface Settled {
  readonly record: BudgetRecord | undefined;
  readonly granted: number;
  readonly verdicts: ReservationVerdicts;
  readonly at: Moment;
  readonly wasDamaged?: boolean;
}
