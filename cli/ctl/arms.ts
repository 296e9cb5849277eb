import { fieldOf, listOf, textOf } from "../output/json_fields.ts";
import { type Column, tableOfJson } from "../output/table.ts";

/** Options of `arms`. */
export interface ArmsOptions {
  /** Span of time that ends now. */
  readonly range?: string;
  /** Only the arms of this route. */
  readonly route?: string;
}

/** Returns the path of the traffic of arms. */
export function armsPath({ range = "1h" }: ArmsOptions): string {
  return `/traffic?${new URLSearchParams({ by: "arm", range })}`;
}

/** Lists the arms: each route with each of its backends, those that get copies too. */
export function armsOf(
  traffic: unknown,
  { route }: ArmsOptions = {},
): readonly unknown[] {
  return listOf(traffic, "rows").filter((row) =>
    route === undefined || textOf(row, "name").startsWith(`${route}: `)
  );
}

/** Formats arms as a table, for comparison. */
export function armsTable(traffic: unknown, options: ArmsOptions): string {
  const arms = armsOf(traffic, options);
  return arms.length === 0 ? "No requests\n" : tableOfJson(columns, arms, "-");
}

const columns: readonly Column[] = [
  ["ARM", (arm) => textOf(arm, "name") || "others"],
  ["REQUESTS", "requests"],
  ["4XX", (arm) => shareOf(arm, "clientErrors")],
  ["5XX", (arm) => shareOf(arm, "serverErrors")],
  ["P50", (arm) => milliseconds(arm, "p50")],
  ["P95", (arm) => milliseconds(arm, "p95")],
  ["FIRST TOKEN", (arm) => milliseconds(arm, "firstToken50")],
  ["INPUT", "inputTokens"],
  ["OUTPUT", "outputTokens"],
  ["USD", (arm) => dollars(numberOf(arm, "costUsd"))],
  [
    "PER REQUEST",
    (arm) =>
      dollars(numberOf(arm, "costUsd") / (numberOf(arm, "requests") || 1)),
  ],
];

function numberOf(arm: unknown, name: string): number {
  return Number(fieldOf(arm, name) ?? 0);
}

function shareOf(arm: unknown, name: string): string {
  const share = numberOf(arm, name) / (numberOf(arm, "requests") || 1);
  return `${(share * 100).toFixed(1)}%`;
}

function milliseconds(arm: unknown, name: string): string | undefined {
  const value = fieldOf(arm, name);
  return typeof value === "number" ? `${Math.round(value)}ms` : undefined;
}

function dollars(amount: number): string {
  return amount.toFixed(6);
}
