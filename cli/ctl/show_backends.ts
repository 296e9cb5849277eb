import { readAdmin } from "../client/admin_client.ts";
import { print } from "../output/output.ts";
import { printable } from "../output/printable.ts";
import { fieldOf, listOf } from "./json_fields.ts";
import { printAs, type TableOptions } from "./print_as.ts";
import { tableOf } from "./table.ts";

const heading = [
  "BACKEND",
  "ENDPOINT",
  "HEALTH",
  "REQUESTS",
  "LATENCY",
  "ACTIVE",
  "IDLE",
  "WAITING",
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
  await print(
    rows.length === 0 ? "No backends\n" : tableOf([
      heading,
      ...rows.map((row) =>
        heading.map((_, index) => printable(String(row[index] ?? "-")))
      ),
    ]),
  );
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
  ];
}
