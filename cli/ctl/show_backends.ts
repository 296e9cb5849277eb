import { readAdmin } from "../client/admin_client.ts";
import { print } from "../output/output.ts";
import { printable } from "../output/printable.ts";
import { fieldOf, listOf } from "../output/json_fields.ts";
import { printAs, type TableOptions } from "../output/print_as.ts";
import { tableOf } from "../output/table.ts";

const heading = [
  "BACKEND",
  "ENDPOINT",
  "HEALTH",
  "REQUESTS",
  "LATENCY",
  "ACTIVE",
  "IDLE",
  "WAITING",
  "CHECK",
];

/** Prints the backends of a running gateway with their endpoints: health and connections. */
export async function showBackends(
  { output, ...address }: TableOptions,
): Promise<void> {
  const dump = await readAdmin(address, "/config_dump", "backends");
  const backends = listOf(dump, "backends");
  const endpoints = listOf(dump, "endpoints");
  if (output !== "table") {
    return await printAs(
      output,
      backends.map((backend) =>
        Object.assign({}, backend, {
          endpoints: endpointsOf(backend, endpoints),
        })
      ),
    );
  }
  const rows = backends.flatMap((backend) => {
    const own = endpointsOf(backend, endpoints);
    return own.length === 0
      ? [[nameOf(backend), fieldOf(backend, "target"), "unused"]]
      : own.map((endpoint) => [nameOf(backend), ...rowOf(endpoint)]);
  });
  const tables = [
    rows.length === 0 ? "No backends\n" : format(heading, rows),
    ...tableOfLookups(listOf(dump, "lookups")),
    ...tableOfCooldowns(listOf(dump, "cooldowns")),
  ];
  await print(tables.join("\n"));
}

/** Formats the names whose addresses are looked up. */
function tableOfLookups(lookups: readonly unknown[]): string[] {
  const rows = lookups.map((each) => [
    fieldOf(each, "host"),
    listOf(each, "addresses").length,
    fieldOf(each, "lookedUpAt") ?? "never",
    fieldOf(each, "error"),
  ]);
  const titles = ["NAME", "ADDRESSES", "LOOKED UP AT", "ERROR"];
  return rows.length === 0 ? [] : [format(titles, rows)];
}

/** Formats the backends that get no requests, because others have a higher priority for now. */
function tableOfCooldowns(cooldowns: readonly unknown[]): string[] {
  const rows = cooldowns.map((each) => [
    fieldOf(each, "backend"),
    fieldOf(each, "until"),
    fieldOf(each, "reason"),
    fieldOf(each, "failures"),
  ]);
  const titles = ["BACKEND", "RESTS UNTIL", "REASON", "FAILURES"];
  return rows.length === 0 ? [] : [format(titles, rows)];
}

function format(
  titles: readonly string[],
  rows: readonly (readonly unknown[])[],
): string {
  return tableOf([
    titles,
    ...rows.map((row) =>
      titles.map((_, index) => printable(String(row[index] ?? "-")))
    ),
  ]);
}

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

function rowOf(endpoint: unknown): readonly unknown[] {
  const latency = fieldOf(endpoint, "latencyMs");
  return [
    fieldOf(endpoint, "endpoint"),
    fieldOf(endpoint, "health"),
    fieldOf(endpoint, "requests"),
    typeof latency === "number" ? `${latency}ms` : undefined,
    fieldOf(endpoint, "active"),
    fieldOf(endpoint, "idle"),
    fieldOf(endpoint, "waiting"),
    describeCheck(fieldOf(endpoint, "check")),
  ];
}

function describeCheck(check: unknown): unknown {
  return check === null || check === undefined
    ? undefined
    : fieldOf(check, "failure") ?? "passed";
}
