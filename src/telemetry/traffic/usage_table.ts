import { createSums, mergeSums, type RequestSums } from "./request_sums.ts";

/** Names what a row sums up. */
export interface UsageRowName {
  /** Start of the hour, in milliseconds since the epoch. */
  readonly hour: number;
  /** Identity of the client; empty without one. */
  readonly key: string;
  readonly model: string;
  readonly route: string;
}

/** Use of one key with one model on one route, in one hour. */
export interface UsageRow extends UsageRowName, Readonly<RequestSums> {}

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
  /** The row that was found last: the next request often belongs to it, and an identity takes time to put together. */
  #last: (UsageRow & RequestSums) | undefined;
  #forgottenUntil = -Infinity;

  /** Returns the rows as they are now. */
  values(): UsageRow[] {
    return Array.from(this.#rows.values(), (row) => ({ ...row }));
  }

  add(row: UsageRow): void {
    mergeSums(this.sumsOf(row), row);
  }

  /** Returns the sums of a row, to add to; valid until rows are taken or forgotten. */
  sumsOf(name: UsageRowName): RequestSums {
    if (this.#last !== undefined && isSame(this.#last, name)) return this.#last;
    const { hour, route } = name;
    const key = name.key.slice(0, MAX_NAME_LENGTH);
    const model = name.model.slice(0, MAX_NAME_LENGTH);
    const isKept = this.#rows.size < MAX_ROWS ||
      this.#rows.has(identify({ hour, key, model, route }));
    return this.#last = isKept
      ? this.#rowOf({ hour, key, model, route })
      : this.#rowOf({ hour, key: OTHER, model: OTHER, route });
  }

  #rowOf(name: UsageRowName): UsageRow & RequestSums {
    const id = identify(name);
    const known = this.#rows.get(id);
    if (known !== undefined) return known;
    const row = { ...name, ...createSums() };
    this.#rows.set(id, row);
    return row;
  }

  /** Removes and returns all rows. */
  take(): readonly UsageRow[] {
    const rows = [...this.#rows.values()];
    this.#rows.clear();
    this.#last = undefined;
    return rows;
  }

  /** Forgets rows of hours before `time`; looks for some once an hour. */
  forgetBefore(time: number): void {
    if (time < this.#forgottenUntil) return;
    this.#forgottenUntil = time + HOUR_MS;
    for (const [id, { hour }] of this.#rows) {
      if (hour < time) this.#rows.delete(id);
    }
    this.#last = undefined;
  }
}

function isSame(one: UsageRowName, other: UsageRowName): boolean {
  return one.hour === other.hour && one.model === other.model &&
    one.key === other.key && one.route === other.route;
}

/** Returns a text that differs for any other names, whatever characters these have. */
function identify({ hour, key, model, route }: UsageRowName): string {
  return `${hour} ${key.length} ${model.length} ${key}${model}${route}`;
}

/** Adds a row to one of the same identity. */
export function sumOf(before: UsageRow | undefined, row: UsageRow): UsageRow {
  const sum = { ...row };
  if (before !== undefined) mergeSums(sum, before);
  return sum;
}
