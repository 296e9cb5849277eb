import { isDuration, parseDuration } from "../../../src/api/schema/duration.ts";
import { NANO_USD } from "../../../src/base/log/log_text.ts";
import {
  usagePeriods,
  type UsageQuery,
  type UsageSum,
} from "../../../src/telemetry/traffic/summed_usage.ts";
import {
  type UsageColumn,
  usageColumns,
} from "../../../src/telemetry/traffic/usage_table.ts";
import { InvalidParameter, readChoice } from "../../http/query_parameters.ts";

/** Sums of use, the largest first. */
export interface UsageReport {
  /** RFC 3339. */
  readonly since: string;
  /** RFC 3339; not included. */
  readonly until: string;
  readonly by: readonly UsageColumn[];
  readonly usage: readonly ShownSum[];
}

/** A sum, with money in US dollars. */
export interface ShownSum extends Omit<UsageSum, "nanoUsd"> {
  /** Values of the columns, joined by commas. */
  readonly name: string;
  readonly costUsd: number;
}

/** Converts sums to those that people read. */
export function showSums(
  sums: readonly UsageSum[],
  by: readonly UsageColumn[],
): readonly ShownSum[] {
  return sums.map(({ nanoUsd, ...sum }) => ({
    ...sum,
    name: by.map((column) => sum[column] ?? "").join(", "),
    costUsd: nanoUsd / NANO_USD,
  }));
}

const MAX_COLUMNS = 4;

/**
 * Reads what to add up, of which time: `by=team,model&month=2026-07`.
 * @throws {InvalidParameter}
 */
export function readUsageQuery(
  query: URLSearchParams,
  now: number,
): UsageQuery {
  return {
    by: readColumns(query.get("by") ?? "key"),
    per: readChoice(query, "per", usagePeriods),
    ...readTimes(query, now),
  };
}

function readColumns(text: string): readonly UsageColumn[] {
  const names = [...new Set(text.split(","))];
  const columns = usageColumns.filter((each) => names.includes(each));
  if (columns.length === names.length && columns.length <= MAX_COLUMNS) {
    return columns.toSorted((a, b) => names.indexOf(a) - names.indexOf(b));
  }
  throw new InvalidParameter(
    `invalid by: expected up to ${MAX_COLUMNS} of ${usageColumns.join(", ")}`,
  );
}

function readTimes(
  query: URLSearchParams,
  now: number,
): Pick<UsageQuery, "from" | "until"> {
  const [month, from, to, since] = ["month", "from", "to", "since"].map(
    (name) => query.get(name) ?? undefined,
  );
  const ways = [month, from ?? to, since].filter((each) => each !== undefined);
  if (ways.length > 1) {
    throw new InvalidParameter(
      'invalid time: expected "since", "month", or "from" and "to"',
    );
  }
  if (month !== undefined) return readMonth(month, now);
  if (from === undefined && to === undefined) {
    return { from: now - readAge(since ?? "24h"), until: Infinity };
  }
  return {
    from: from === undefined ? 0 : readDay("from", from),
    until: to === undefined ? Infinity : readDay("to", to) + DAY_MS,
  };
}

const DAY_MS = 86_400_000;

/** Reads a month such as `2026-07`; `current` is that of `now`. */
function readMonth(
  text: string,
  now: number,
): Pick<UsageQuery, "from" | "until"> {
  const shown = text === "current"
    ? new Date(now).toISOString().slice(0, 7)
    : text;
  const [, year, month] = /^([0-9]{4})-(0[1-9]|1[0-2])$/.exec(shown) ?? [];
  if (year === undefined) {
    throw new InvalidParameter(
      "invalid month: expected one such as 2026-07, or current",
    );
  }
  const [y, m] = [Number(year), Number(month)];
  return { from: Date.UTC(y, m - 1), until: Date.UTC(y, m) };
}

function readDay(name: string, text: string): number {
  const time = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)
    ? Date.parse(text)
    : NaN;
  if (Number.isFinite(time)) return time;
  throw new InvalidParameter(
    `invalid ${name}: expected a day such as 2026-07-01`,
  );
}

/** Reads a duration such as `24h`, or days such as `7d`. */
function readAge(text: string): number {
  const [, days] = /^([0-9]{1,3})d$/.exec(text) ?? [];
  if (days !== undefined) return Number(days) * DAY_MS;
  if (isDuration(text)) return parseDuration(text);
  throw new InvalidParameter(
    "invalid since: expected a duration such as 24h or 7d",
  );
}
