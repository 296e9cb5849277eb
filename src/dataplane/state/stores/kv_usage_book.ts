import { inTime } from "../../../base/clock.ts";
import type { Log } from "../../../base/log/log.ts";
import { KvStore, type KvStoreOptions } from "../../../kv/kv_store.ts";
import { startOf } from "../../../telemetry/traffic/summed_usage.ts";
import {
  type UsageBook,
  type UsageRow,
  UsageTable,
  type UsageUnit,
  usageUnits,
} from "../../../telemetry/traffic/usage_table.ts";
import {
  applyChanges,
  entriesOf,
  keptMs,
  readRow,
  type UsageChange,
} from "./usage_entries.ts";

const FLUSH_MS = 2000;
const CLOSE_MS = 2000;
/** Deno KV checks at most 100 entries in a write; some rows have two. */
const CHANGES_PER_WRITE = 40;

/** Dependencies of a usage book over Deno KV or Redis. */
export interface KvUsageBookOptions extends KvStoreOptions {
  readonly log: Log;
}

/**
 * Remembers in Deno KV or Redis who used what: by the hour for two days, and by the day for 13 months, in space that has a limit.
 * Adds up the use of all processes that share the store; each row counts once, whatever fails between process and store.
 */
export class KvUsageBook implements UsageBook {
  readonly #options: KvUsageBookOptions;
  readonly #store: KvStore;
  /** Differs for any two processes. */
  readonly #writer = crypto.randomUUID().slice(0, 8);
  /** Rows by the hour, not yet in the queue. */
  readonly #pending = new UsageTable();
  /** Changes to be made, in this order. */
  #queue: UsageChange[] = [];
  #sequence = 0;
  #cancelFlush: (() => void) | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #hasWarned = false;
  #isClosed = false;

  constructor(options: KvUsageBookOptions) {
    this.#options = options;
    this.#store = new KvStore(options);
  }

  add(rows: readonly UsageRow[]): void {
    for (const row of rows) this.#pending.add(row);
    if (rows.length > 0) this.#flushSoon();
  }

  async *read(
    unit: UsageUnit,
    from: number,
    until: number,
  ): AsyncGenerator<readonly UsageRow[]> {
    await this.#flush();
    const now = this.#options.clock.now();
    const first = Math.max(from, now - keptMs[unit]);
    const last = Math.min(until, now + 1);
    const step = usageUnits[unit];
    for (let start = startOf(unit, first); start < last; start += step) {
      const found = await this.#store.list(entriesOf(unit, start));
      yield found.flatMap((value) => readRow(value) ?? []);
    }
  }

  /** Writes the rest; takes at most two seconds. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelFlush?.();
    const { clock } = this.#options;
    await inTime(clock, CLOSE_MS, this.#flush());
    await this.#store.close();
  }

  #flushSoon(): void {
    if (this.#isClosed) return;
    this.#cancelFlush ??= this.#options.clock.setTimer(() => {
      this.#cancelFlush = undefined;
      void this.#flush();
    }, FLUSH_MS);
  }

  #flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#write());
    return this.#flushing;
  }

  async #write(): Promise<void> {
    try {
      // Changes that failed before come first: a store knows a change by its order.
      await this.#makeChanges();
      this.#takePending();
      await this.#makeChanges();
      this.#hasWarned = false;
    } catch (error) {
      this.#flushSoon();
      if (this.#hasWarned) return;
      this.#hasWarned = true;
      const { log } = this.#options;
      log.warn("Cannot write who used what to the store", { error });
    }
  }

  async #makeChanges(): Promise<void> {
    while (this.#queue.length > 0) {
      const changes = this.#queue.slice(0, CHANGES_PER_WRITE);
      await this.#store.transact((kv, isLate) =>
        applyChanges(kv, changes, isLate)
      );
      this.#queue = this.#queue.slice(changes.length);
    }
  }

  #takePending(): void {
    const hours = this.#pending.take();
    const days = new UsageTable();
    for (const row of hours) {
      days.add({ ...row, start: startOf("day", row.start) });
    }
    const changeOf = (unit: UsageUnit) => (row: UsageRow): UsageChange => ({
      unit,
      row,
      writer: this.#writer,
      sequence: ++this.#sequence,
    });
    this.#queue = [
      ...hours.map(changeOf("hour")),
      ...days.take().map(changeOf("day")),
    ];
  }
}
