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

/** Remembers who used what for several processes. */
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
  #forgottenUntil = -Infinity;

  /** Returns the rows as they are now. */
  values(): UsageRow[] {
    return Array.from(this.#rows.values(), (row) => ({ ...row }));
  }

  add(row: UsageRow): void {
    const key = row.key.slice(0, MAX_NAME_LENGTH);
    const model = row.model.slice(0, MAX_NAME_LENGTH);
    const isFull = this.#rows.size >= MAX_ROWS;
    if (this.#addAs({ ...row, key, model }, isFull)) return;
    this.#addAs({ ...row, key: OTHER, model: OTHER }, false);
  }

  /** Returns false for a new row that must not be kept. */
  #addAs(row: UsageRow, isFull: boolean): boolean {
    const { hour, key, model, route } = row;
    // Differs for any other names, whatever characters these have.
    const id = `${hour} ${key.length} ${model.length} ${key}${model}${route}`;
    const known = this.#rows.get(id);
    if (known !== undefined) mergeSums(known, row);
    else if (!isFull) this.#rows.set(id, row);
    return known !== undefined || !isFull;
  }

  /** Removes and returns all rows. */
  take(): readonly UsageRow[] {
    const rows = [...this.#rows.values()];
    this.#rows.clear();
    return rows;
  }

  /** Forgets rows of hours before `time`; looks for some once an hour. */
  forgetBefore(time: number): void {
    if (time < this.#forgottenUntil) return;
    this.#forgottenUntil = time + HOUR_MS;
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
