/** The address of the page of traffic, and the order of its rows. */
import type { TrafficDimension } from "../../../../../src/telemetry/traffic/traffic_bucket.ts";
import type { TrafficRange } from "../../../../../src/telemetry/traffic/traffic_range.ts";
import type { TrafficRow } from "../../../../../src/telemetry/traffic/traffic_report.ts";

/** Spans of time that end now, with the seconds between two requests for them. */
export const ranges = [
  { value: "15m", title: "15 min", text: "15 minutes", intervalMs: 3000 },
  { value: "1h", title: "1 h", text: "hour", intervalMs: 10_000 },
  { value: "24h", title: "24 h", text: "24 hours", intervalMs: 30_000 },
] as const;

/** Parts by which traffic is divided. */
export const dimensions = [
  { value: "route", title: "Route", plural: "routes" },
  { value: "backend", title: "Backend", plural: "backends" },
  { value: "model", title: "Model", plural: "models" },
  { value: "key", title: "Key", plural: "keys" },
  { value: "server", title: "MCP server", plural: "MCP servers" },
  { value: "tool", title: "MCP tool", plural: "MCP tools" },
] as const;

/** The selection, which the address names. */
export interface TrafficView {
  readonly range: TrafficRange;
  readonly by: TrafficDimension;
  /** Only the traffic of this name; `undefined` for all. */
  readonly name: string | undefined;
}

/** Parses the argument of the address, such as `1h/key/anna`. */
export function readView(argument: string): TrafficView {
  const [range, by, ...name] = argument.split("/");
  return {
    range: ranges.find(({ value }) => value === range)?.value ?? "15m",
    by: dimensions.find(({ value }) => value === by)?.value ?? "route",
    name: name.length === 0 ? undefined : name.join("/"),
  };
}

/** Formats the argument of the address. */
export function writeView({ range, by, name }: TrafficView): string {
  return [range, by, ...name === undefined ? [] : [name]].join("/");
}

/** Returns the path of the endpoint. */
export function pathOf(
  { range, by, name }: TrafficView,
): `traffic?${string}` {
  const query = new URLSearchParams({ range, by });
  if (name !== undefined) query.set("name", name);
  return `traffic?${query}`;
}

/** Names a row for people. */
export function titleOf(name: string | null, by: TrafficDimension): string {
  if (name === null) return "All others";
  if (name !== "") return name;
  return by === "backend" ? "None: the gateway responded" : `No ${by}`;
}

/** Figures to sort rows by, the largest first. */
export const sortings = [
  { value: "requests", title: "Requests", isOfTokens: false },
  { value: "errors", title: "Errors", isOfTokens: false },
  { value: "p95", title: "p95", isOfTokens: false },
  { value: "tokens", title: "Tokens", isOfTokens: true },
  { value: "cost", title: "Cost", isOfTokens: true },
] as const;

/** One of `sortings`. */
export type Sorting = typeof sortings[number]["value"];

const figureOf: Readonly<Record<Sorting, (row: TrafficRow) => number>> = {
  requests: ({ requests }) => requests,
  errors: ({ clientErrors, serverErrors }) => clientErrors + serverErrors,
  p95: ({ p95 }) => p95 ?? 0,
  tokens: ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
  cost: ({ costUsd }) => costUsd,
};

/** Sorts rows; that of all others stays the last. Equal ones are in the order of their names, unnamed ones last. */
export function sortRows(
  rows: readonly TrafficRow[],
  sorting: Sorting,
): readonly TrafficRow[] {
  const read = figureOf[sorting];
  return rows.toSorted((a, b) =>
    Number(a.name === null) - Number(b.name === null) ||
    read(b) - read(a) ||
    Number(!a.name) - Number(!b.name) ||
    (a.name ?? "").localeCompare(b.name ?? "")
  );
}
