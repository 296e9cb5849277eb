import { NANO_USD } from "../../base/log/log_text.ts";
import { createSums, mergeSums, type RequestSums } from "./request_sums.ts";
import {
  OTHER,
  type UsageColumn,
  type UsageRow,
  usageUnits,
} from "./usage_table.ts";

/** Times that usage can be divided by. */
export const usagePeriods = ["day", "month"] as const;

/** Selects usage. Times are in milliseconds since the epoch, days and months those of UTC. */
export interface UsageQuery {
  readonly by: readonly UsageColumn[];
  readonly from: number;
  /** Not included. */
  readonly until: number;
  readonly per?: typeof usagePeriods[number] | undefined;
  /** Only that of this user. */
  readonly user?: string;
}

/** Sums of the rows that have the same names in the columns of the query. */
export interface UsageSum
  extends
    Readonly<RequestSums>,
    Partial<Readonly<Record<UsageColumn, string>>> {
  /** Such as `2026-07-01` or `2026-07`. */
  readonly period?: string;
}

/** Sums of a report; the smallest of more are one, `other`. */
const MAX_SUMS = 10_000;

const ofModels: ReadonlySet<UsageColumn> = new Set(["model", "provider"]);
const ofTools: ReadonlySet<UsageColumn> = new Set(["server", "tool"]);

/** Adds up rows of usage, in memory that depends on the result alone. */
export class UsageSums {
  readonly #query: UsageQuery;
  readonly #sums = new Map<string, UsageSum & RequestSums>();
  readonly #isOfModels: boolean;
  readonly #isOfTools: boolean;

  constructor(query: UsageQuery) {
    this.#query = query;
    this.#isOfModels = query.by.some((each) => ofModels.has(each));
    this.#isOfTools = query.by.some((each) => ofTools.has(each));
  }

  add(rows: Iterable<UsageRow>): void {
    for (const row of rows) {
      if (this.#concerns(row)) mergeSums(this.#sumOf(row), row);
    }
  }

  /** Returns the sums: by time, the largest first. */
  read(): readonly UsageSum[] {
    return [...this.#sums.values()].sort((a, b) =>
      compare(a.period ?? "", b.period ?? "") ||
      b.nanoUsd - a.nanoUsd || tokensOf(b) - tokensOf(a) ||
      b.requests - a.requests
    );
  }

  /** A report by model leaves out calls of tools, and one by tool leaves out requests to models. */
  #concerns({ start, model, tool, user: rowUser }: UsageRow): boolean {
    const { from, until, user = rowUser } = this.#query;
    if (start < from || start >= until || rowUser !== user) return false;
    if (this.#isOfModels === this.#isOfTools) return true;
    return this.#isOfTools ? tool !== "" : tool === "" || model !== "";
  }

  #sumOf(row: UsageRow): UsageSum & RequestSums {
    const { by, per } = this.#query;
    const period = per === undefined ? "" : periodOf(row.start, per);
    const names = by.map((column) => row[column]);
    const id = JSON.stringify([period, ...names]);
    const known = this.#sums.get(id);
    if (known !== undefined) return known;
    const isFull = this.#sums.size >= MAX_SUMS;
    const kept = isFull ? names.map(() => OTHER) : names;
    return this.#sums.getOrInsertComputed(
      isFull ? JSON.stringify([period, ...kept]) : id,
      () => ({
        ...(per !== undefined && { period }),
        ...Object.fromEntries(by.map((column, at) => [column, kept[at] ?? ""])),
        ...createSums(),
      }),
    );
  }
}

function periodOf(start: number, per: typeof usagePeriods[number]): string {
  return new Date(start).toISOString().slice(0, per === "day" ? 10 : 7);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function tokensOf({ inputTokens, outputTokens }: RequestSums): number {
  return inputTokens + outputTokens;
}

/** Returns the start of the hour or day of a time. */
export function startOf(unit: keyof typeof usageUnits, time: number): number {
  return Math.floor(time / usageUnits[unit]) * usageUnits[unit];
}

/** Formats sums as CSV (RFC 4180), with a header; money is in US dollars. */
export function usageCsv(
  { by, per }: Pick<UsageQuery, "by" | "per">,
  sums: readonly UsageSum[],
): string {
  const columns = [...(per === undefined ? [] : ["period"] as const), ...by];
  const counts = [
    "requests",
    "clientErrors",
    "serverErrors",
    "inputTokens",
    "outputTokens",
    "uncounted",
  ] as const;
  const lines = sums.map((sum) => [
    ...columns.map((column) => cell(sum[column] ?? "")),
    ...counts.map((name) => sum[name]),
    dollars(sum.nanoUsd),
  ]);
  return [[...columns, ...counts, "costUsd"], ...lines]
    .map((line) => `${line.join(",")}\r\n`).join("");
}

/** Formats money without an exponent. */
function dollars(nanoUsd: number): string {
  return (nanoUsd / NANO_USD).toFixed(9).replace(/\.?0+$/, "");
}

/** Quotes a cell; spreadsheets take one that begins with certain characters for a formula. */
function cell(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless)
    ? `"${harmless.replaceAll('"', '""')}"`
    : harmless;
}
