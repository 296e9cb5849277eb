import { type AdminAddress, requestAdmin } from "../client/admin_client.ts";
import { fieldOf, listOf, textOf } from "../output/json_fields.ts";
import { print } from "../output/output.ts";
import type { TableOptions } from "../output/print_as.ts";
import { type Column, tableOfJson } from "../output/table.ts";

/** Options of `usage` that select rows. */
export interface UsageQueryOptions {
  /** Columns, such as `team,model`. */
  readonly by?: string;
  /** Such as `24h`, or `7d`. */
  readonly since?: string;
  /** Such as `2026-07`; `true` for the current one. */
  readonly month?: string | true;
  /** A day such as `2026-07-01`. */
  readonly from?: string;
  /** A day such as `2026-07-31`. */
  readonly to?: string;
  /** One of `day` and `month`. */
  readonly per?: string;
}

/** Options of `usage`. */
export interface UsageOptions
  extends Omit<TableOptions, "output">, UsageQueryOptions {
  readonly output: TableOptions["output"] | "csv";
}

/** Prints who used what as CSV. */
export async function printUsageCsv(
  options: AdminAddress & UsageQueryOptions,
): Promise<void> {
  const pathAndQuery = `${usagePath(options)}&format=csv`;
  const csv = await requestAdmin(options, { pathAndQuery, type: "text/csv" });
  await print(new TextDecoder().decode(csv));
}

/** Returns the path and query of usage. */
export function usagePath(
  { by = "key", since, month, from, to, per }: UsageQueryOptions,
): string {
  const given = { since, from, to, per };
  const query = new URLSearchParams({ by });
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) query.set(name, value);
  }
  if (month !== undefined) {
    query.set("month", month === true ? "current" : month);
  }
  return `/usage?${query}`;
}

/** Formats usage as a table. */
export function usageTable(
  state: unknown,
  { by = "key", per }: UsageQueryOptions,
): string {
  const usage = listOf(state, "usage");
  if (usage.length === 0) return "Nothing was used\n";
  const names = [...(per === undefined ? [] : ["period"]), ...by.split(",")];
  return tableOfJson([
    ...names.map((name): Column => [
      name.toUpperCase(),
      (each) => textOf(each, name) || "-",
    ]),
    ["REQUESTS", "requests"],
    ["INPUT", "inputTokens"],
    ["OUTPUT", "outputTokens"],
    ["USD", (each) => Number(fieldOf(each, "costUsd")).toFixed(6)],
    ["UNCOUNTED", "uncounted"],
  ], usage);
}
