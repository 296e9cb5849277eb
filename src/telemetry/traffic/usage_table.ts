import { createSums, mergeSums, type RequestSums } from "./request_sums.ts";

/** Columns of usage, by which it can be added up. */
export const usageColumns = [
  "key",
  "user",
  "team",
  "tag",
  "model",
  "provider",
  "route",
  "server",
  "tool",
] as const;

/** A column of usage. `server` and `tool` are those of calls of MCP tools, `model` and `provider` those of requests to LLMs. */
export type UsageColumn = typeof usageColumns[number];

/** Names what a row sums up; a column is empty where a request has no such thing. */
export interface UsageRowName extends Readonly<Record<UsageColumn, string>> {
  /** Start of the hour or of the day (UTC), in milliseconds since the epoch. */
  readonly start: number;
}

/** Use of one key with one model on one route and so on, in one hour or on one day. */
export interface UsageRow extends UsageRowName, Readonly<RequestSums> {}

/** Length of the time that a row sums up. */
export const usageUnits = { hour: 3_600_000, day: 86_400_000 } as const;

/** Time that a row sums up. */
export type UsageUnit = keyof typeof usageUnits;

/** Remembers who used what for several processes. */
export interface UsageBook {
  /** @param rows By the hour. */
  add(rows: readonly UsageRow[]): void;
  /** Yields the rows of hours or days that start from `from` until before `until`, of all processes. Throws when the store cannot be read. */
  read(
    unit: UsageUnit,
    from: number,
    until: number,
  ): AsyncIterable<readonly UsageRow[]>;
  /** Writes what was added. */
  close(): Promise<void>;
}

/** Rows kept in memory. Further keys and models of an hour are counted as `other`. */
const MAX_ROWS = 20_000;
const MAX_NAME_LENGTH = 200;
/** Name of what there was no space for. */
export const OTHER = "other";

/** Rows by their names; those that differ in nothing else are added up. */
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
    const short = shorten(name);
    const isKept = this.#rows.size < MAX_ROWS ||
      this.#rows.has(identify(short));
    return this.#last = this.#rowOf(isKept ? short : withoutDetails(short));
  }

  #rowOf(name: UsageRowName): UsageRow & RequestSums {
    return this.#rows.getOrInsertComputed(
      identify(name),
      () => ({ ...name, ...createSums() }),
    );
  }

  /** Removes and returns all rows. */
  take(): readonly UsageRow[] {
    const rows = [...this.#rows.values()];
    this.#rows.clear();
    this.#last = undefined;
    return rows;
  }

  /** Forgets rows that start before `time`; looks for some once an hour. */
  forgetBefore(time: number): void {
    if (time < this.#forgottenUntil) return;
    this.#forgottenUntil = time + usageUnits.hour;
    for (const [id, { start }] of this.#rows) {
      if (start < time) this.#rows.delete(id);
    }
    this.#last = undefined;
  }
}

function shorten(name: UsageRowName): UsageRowName {
  if (usageColumns.every((each) => name[each].length <= MAX_NAME_LENGTH)) {
    return name;
  }
  const short = { ...name };
  for (const each of usageColumns) {
    short[each] = name[each].slice(0, MAX_NAME_LENGTH);
  }
  return short;
}

/** Returns the name of the row for those that there is no space for: only the time stays. */
export function withoutDetails({ start }: UsageRowName): UsageRowName {
  return {
    start,
    key: OTHER,
    user: OTHER,
    team: OTHER,
    tag: OTHER,
    model: OTHER,
    provider: OTHER,
    route: OTHER,
    server: OTHER,
    tool: OTHER,
  };
}

/** Compares all columns; each of them by name would cost ten times as much, for each request. */
function isSame(one: UsageRowName, other: UsageRowName): boolean {
  return one.start === other.start && one.key === other.key &&
    one.user === other.user && one.team === other.team &&
    one.tag === other.tag && one.model === other.model &&
    one.provider === other.provider && one.route === other.route &&
    one.server === other.server && one.tool === other.tool;
}

/** Returns a text that differs for any other names, whatever characters these have. */
export function identify(name: UsageRowName): string {
  let text = `${name.start}`;
  for (const each of usageColumns) text += ` ${name[each].length}`;
  for (const each of usageColumns) text += name[each];
  return text;
}
