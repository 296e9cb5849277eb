import type { Clock } from "../../base/clock.ts";
import { mergeSums, type RequestSums } from "./request_sums.ts";

/** Use of one key with one model on one route, in one hour. */
export interface UsageRow extends Readonly<RequestSums> {
  /** Start of the hour, in milliseconds since the epoch. */
  readonly hour: number;
  /** Identity of the client; empty without one. */
  readonly key: string;
  readonly model: string;
  readonly route: string;
}

/** Remembers who used what. */
export interface UsageBook {
  add(rows: readonly UsageRow[]): void;
  /** Returns the rows of hours that end after `since`, of all processes. Rejects when the store cannot be read. */
  read(since: number): Promise<readonly UsageRow[]>;
  /** Writes what was added. */
  close(): Promise<void>;
}

/** Length of the time that a row sums up. */
export const HOUR_MS = 3_600_000;
/** Time for which rows are kept. */
export const KEPT_MS = 32 * 24 * HOUR_MS;
/** Rows kept in memory. Further keys and models of an hour are counted as `other`. */
const MAX_ROWS = 20_000;
const MAX_NAME_LENGTH = 200;
const OTHER = "other";

/** Rows by hour, key, model and route; those that differ in nothing else are added up. */
export class UsageTable {
  readonly #rows = new Map<string, UsageRow & RequestSums>();

  /** Returns the rows as they are now. */
  values(): UsageRow[] {
    return Array.from(this.#rows.values(), (row) => ({ ...row }));
  }

  add(row: UsageRow): void {
    const { hour, route } = row;
    const key = row.key.slice(0, MAX_NAME_LENGTH);
    const model = row.model.slice(0, MAX_NAME_LENGTH);
    const id = identify(hour, key, model, route);
    const known = this.#rows.get(id);
    if (known !== undefined) mergeSums(known, row);
    else if (this.#rows.size < MAX_ROWS) {
      this.#rows.set(id, { ...row, key, model });
    } else this.#addToOther(row);
  }

  #addToOther(row: UsageRow): void {
    const id = identify(row.hour, OTHER, OTHER, row.route);
    const known = this.#rows.get(id);
    if (known !== undefined) mergeSums(known, row);
    else this.#rows.set(id, { ...row, key: OTHER, model: OTHER });
  }

  /** Removes and returns all rows. */
  take(): readonly UsageRow[] {
    const rows = [...this.#rows.values()];
    this.#rows.clear();
    return rows;
  }

  /** Forgets rows of hours before `time`. */
  forgetBefore(time: number): void {
    for (const [id, { hour }] of this.#rows) {
      if (hour < time) this.#rows.delete(id);
    }
  }
}

/** Adds a row to one of the same identity. */
export function sumOf(before: UsageRow | undefined, row: UsageRow): UsageRow {
  const sum = { ...row };
  if (before !== undefined) mergeSums(sum, before);
  return sum;
}

/** Returns a text that differs for any other names, whatever characters these have. */
function identify(
  hour: number,
  key: string,
  model: string,
  route: string,
): string {
  return `${hour} ${key.length} ${model.length} ${key}${model}${route}`;
}

/** Remembers in memory who used what, for 32 days or until the process ends. */
export class MemoryUsageBook implements UsageBook {
  readonly #table = new UsageTable();
  readonly #clock: Pick<Clock, "now">;
  #forgottenAt = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  add(rows: readonly UsageRow[]): void {
    for (const row of rows) this.#table.add(row);
    const now = this.#clock.now();
    if (now - this.#forgottenAt < HOUR_MS) return;
    this.#forgottenAt = now;
    this.#table.forgetBefore(now - KEPT_MS);
  }

  read(since: number): Promise<readonly UsageRow[]> {
    const rows = this.#table.values();
    return Promise.resolve(rows.filter(({ hour }) => hour + HOUR_MS > since));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
