import { fieldOf, listOf } from "../output/json_fields.ts";
import { type Column, tableOfJson } from "../output/table.ts";

/** Selects the backends of a configuration dump, with their endpoints. */
export function backendsJson(dump: unknown): readonly unknown[] {
  const endpoints = listOf(dump, "endpoints");
  return listOf(dump, "backends").map((backend) =>
    Object.assign({}, backend, { endpoints: endpointsOf(backend, endpoints) })
  );
}

/** Formats the backends with health and connections of their endpoints, looked up names, and backends that rest. */
export function backendsTable(dump: unknown): string {
  const endpoints = listOf(dump, "endpoints");
  const rows = listOf(dump, "backends").flatMap((backend) => {
    const own = endpointsOf(backend, endpoints);
    // An endpoint of MCP servers has no address: its servers are backends.
    if (fieldOf(backend, "mcp") !== undefined) return [];
    return own.length > 0
      ? own.map((endpoint) => ({ ...Object(endpoint), name: nameOf(backend) }))
      : [{
        name: nameOf(backend),
        endpoint: fieldOf(backend, "target"),
        health: "unused",
      }];
  });
  const lookups = listOf(dump, "lookups");
  const cooldowns = listOf(dump, "cooldowns");
  return [
    rows.length === 0
      ? "No backends\n"
      : tableOfJson(endpointColumns, rows, "-"),
    ...(lookups.length === 0 ? [] : [tableOfJson(lookupColumns, lookups, "-")]),
    ...(cooldowns.length === 0
      ? []
      : [tableOfJson(cooldownColumns, cooldowns, "-")]),
  ].join("\n");
}

const endpointColumns: readonly Column[] = [
  ["BACKEND", "name"],
  ["ENDPOINT", "endpoint"],
  ["HEALTH", "health"],
  ["REQUESTS", "requests"],
  ["ERRORS", errorRateOf],
  ["LATENCY", (endpoint) => {
    const latency = fieldOf(endpoint, "latencyMs");
    return typeof latency === "number" ? `${latency}ms` : undefined;
  }],
  ["ACTIVE", "active"],
  ["IDLE", "idle"],
  ["WAITING", "waiting"],
  ["CHECK", (endpoint) => {
    const check = fieldOf(endpoint, "check") ?? undefined;
    return check && (fieldOf(check, "failure") ?? "passed");
  }],
];

/** Returns the part of the latest attempts that failed, such as `31%`; `undefined` without attempts. */
function errorRateOf(endpoint: unknown): string | undefined {
  const share = fieldOf(endpoint, "failureShare");
  return typeof share === "number" ? `${formatShare(share)}%` : undefined;
}

/** Formats a share in percent; one that is not zero never as zero. */
function formatShare(share: number): string {
  return share > 0 && share < 0.01 ? "<1" : String(Math.round(share * 100));
}

/** Names whose addresses are looked up. */
const lookupColumns: readonly Column[] = [
  ["NAME", "host"],
  ["ADDRESSES", (each) => listOf(each, "addresses").length],
  ["LOOKED UP AT", (each) => fieldOf(each, "lookedUpAt") ?? "never"],
  ["ERROR", "error"],
];

/** Backends that get no requests, because others have a higher priority for now. */
const cooldownColumns: readonly Column[] = [
  ["BACKEND", "backend"],
  ["MODEL", (each) => fieldOf(each, "model") ?? "all"],
  ["RESTS UNTIL", "until"],
  ["REASON", "reason"],
  ["FAILURES", "failures"],
];

function nameOf(backend: unknown): unknown {
  return fieldOf(backend, "key") ?? fieldOf(backend, "name");
}

/** Returns the endpoints that requests have used since the backend was configured. */
function endpointsOf(
  backend: unknown,
  endpoints: readonly unknown[],
): readonly unknown[] {
  const name = nameOf(backend);
  return endpoints.filter((each) =>
    listOf(each, "backends").some((key) => key === name)
  );
}
