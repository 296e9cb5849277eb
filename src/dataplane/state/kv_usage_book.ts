import { type Clock, inTime } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { KvHandle } from "../../kv/kv_handle.ts";
import { openKv } from "../../kv/open_kv.ts";
import { KvStore } from "../../kv/kv_store.ts";
import { createSums, sumNames } from "../../telemetry/traffic/request_sums.ts";
import {
  HOUR_MS,
  KEPT_MS,
  sumOf,
  type UsageBook,
  type UsageRow,
  UsageTable,
} from "../../telemetry/traffic/usage_table.ts";

const FLUSH_MS = 2000;
const CLOSE_MS = 2000;
/** Begins all keys; the number is the version of the rows. */
const prefix = ["usage", 1];

/** Dependencies of a usage book over Deno KV or Redis. */
export interface KvUsageBookOptions {
  /** File or URL of the store. */
  readonly store: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** Opens the store; `openKv` by default. */
  readonly open?: (path: string) => Promise<KvHandle>;
}

/** Remembers in Deno KV or Redis who used what, for 32 days: for all processes that share the store. */
export class KvUsageBook implements UsageBook {
  readonly #options: KvUsageBookOptions;
  readonly #store: KvStore;
  /** Rows not yet written. */
  readonly #pending = new UsageTable();
  #cancelFlush: (() => void) | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #hasWarned = false;
  #isClosed = false;

  constructor(options: KvUsageBookOptions) {
    const { store, clock, random, open = openKv } = options;
    this.#options = options;
    this.#store = new KvStore({ open: () => open(store), clock, random });
  }

  add(rows: readonly UsageRow[]): void {
    for (const row of rows) this.#pending.add(row);
    if (rows.length > 0) this.#flushSoon();
  }

  async read(since: number): Promise<readonly UsageRow[]> {
    await this.#flush();
    const from = Math.floor(since / HOUR_MS) * HOUR_MS;
    const rows: UsageRow[] = [];
    const found = await this.#store.list(prefix, from);
    for (const value of found) {
      const row = readRow(value);
      if (row !== undefined) rows.push(row);
    }
    return [...rows, ...this.#pending.values()];
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
    const rows = this.#pending.take();
    for (const [index, row] of rows.entries()) {
      try {
        await this.#store.update(keyOf(row), (value) => ({
          value: sumOf(readRow(value), row),
          expireInMs: KEPT_MS,
          listed: { prefix, time: row.hour },
        }));
        this.#hasWarned = false;
      } catch (error) {
        // The write may have been done: a row counts twice rather than never.
        this.add(rows.slice(index));
        if (this.#hasWarned) return;
        this.#hasWarned = true;
        const { log } = this.#options;
        return log.warn("Cannot write who used what to the store", { error });
      }
    }
  }
}

function keyOf({ hour, route, model, key }: UsageRow): Deno.KvKey {
  return [...prefix, hour, route, model, key];
}

const names = ["key", "model", "route"] as const;

/** Checks a value of the store; `undefined` for one that no gateway wrote. Older gateways wrote fewer sums. */
function readRow(value: unknown): UsageRow | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const fields = new Map(Object.entries(value));
  const isRow = Number.isFinite(fields.get("hour")) &&
    Number.isFinite(fields.get("requests")) &&
    names.every((name) => typeof fields.get(name) === "string");
  if (!isRow) return undefined;
  const sums = createSums();
  for (const name of sumNames) sums[name] = Number(fields.get(name) ?? 0) || 0;
  const text = (name: typeof names[number]) => String(fields.get(name));
  return {
    ...sums,
    hour: Number(fields.get("hour")),
    key: text("key"),
    model: text("model"),
    route: text("route"),
  };
}
