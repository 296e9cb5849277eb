import { readAdmin } from "../client/admin_client.ts";
import { fieldOf, listOf, textOf } from "../output/json_fields.ts";
import { print } from "../output/output.ts";
import { printAs, type TableOptions } from "../output/print_as.ts";
import { type Column, tableOfJson } from "../output/table.ts";
import { armsOf, type ArmsOptions, armsPath, armsTable } from "./arms.ts";
import { connectionsOf, connectionsTable, tasksPath } from "./connections.ts";
import { usagePath, type UsageQueryOptions, usageTable } from "./usage.ts";
import { backendsJson, backendsTable } from "./backends.ts";

/** Options of all views. */
export interface ViewOptions
  extends TableOptions, UsageQueryOptions, ArmsOptions {
  /** Of `connections` and `tasks`: maximum number of connections and requests. */
  readonly limit?: number;
}

/** A part of the state of a running gateway. */
interface View {
  /** Path and query at the admin interface. */
  readonly path: string | ((options: ViewOptions) => string);
  /** A field that the response always has. */
  readonly field: string;
  /** Selects what is printed as YAML and JSON; by default, the whole response. */
  readonly select?: (response: unknown, options: ViewOptions) => unknown;
  readonly table: (response: unknown, options: ViewOptions) => string;
}

/** The views by the names of their commands. */
export const views = {
  arms: {
    path: armsPath,
    field: "rows",
    select: armsOf,
    table: armsTable,
  },
  audit: {
    path: "/audit",
    field: "changes",
    table: auditTable,
  },
  backends: {
    path: "/config_dump",
    field: "backends",
    select: backendsJson,
    table: backendsTable,
  },
  connections: {
    path: tasksPath,
    field: "listeners",
    select: connectionsOf,
    table: connectionsTable,
  },
  keys: {
    path: "/config_dump",
    field: "keySets",
    select: keysJson,
    table: keysTable,
  },
  limits: {
    path: "/config_dump",
    field: "budgets",
    select: (dump) => listOf(dump, "budgets"),
    table: limitsTable,
  },
  mcp: {
    path: "/mcp/servers",
    field: "servers",
    select: (state) => listOf(state, "servers"),
    table: mcpTable,
  },
  memory: {
    path: "/memory",
    field: "process",
    table: memoryTable,
  },
  tasks: {
    path: tasksPath,
    field: "listeners",
    table: tasksTable,
  },
  usage: {
    path: usagePath,
    field: "usage",
    select: (state) => listOf(state, "usage"),
    table: usageTable,
  },
} as const satisfies Readonly<Record<string, View>>;

/** Name of a view. */
export type ViewName = keyof typeof views;

/** Prints a part of the state of a running gateway. */
export async function showView(
  name: ViewName,
  options: ViewOptions,
): Promise<void> {
  const { path, field }: View = views[name];
  const query = typeof path === "string" ? path : path(options);
  await printView(name, options, await readAdmin(options, query, field));
}

/** Prints the response of the endpoint of a view. */
export async function printView(
  name: ViewName,
  options: ViewOptions,
  response: unknown,
): Promise<void> {
  const { select, table }: View = views[name];
  const { output } = options;
  await (output === "table" ? print(table(response, options)) : printAs(
    output,
    select === undefined ? response : select(response, options),
  ));
}

function auditTable(audit: unknown): string {
  const changes = listOf(audit, "changes");
  if (changes.length === 0) return "No changes since the gateway started\n";
  const byName = (names: readonly string[]) =>
    names.map((name): Column => [name.toUpperCase(), name]);
  const users: readonly Column[] =
    changes.some((each) => fieldOf(each, "user") !== undefined)
      ? [
        ["ROLE", (each) => fieldOf(each, "role") ?? "-"],
        ["USER", (each) => fieldOf(fieldOf(each, "user"), "subject") ?? "-"],
      ]
      : [];
  const omitted = Number(fieldOf(audit, "omitted") ?? 0);
  return tableOfJson(
    [
      ...byName(["at", "address", "access"]),
      ...users,
      ...byName(["action", "status", "outcome"]),
    ],
    changes,
    "-",
  ) + (omitted > 0 ? `${omitted} older changes are not kept\n` : "");
}

function keysJson(state: unknown) {
  return {
    keySets: listOf(state, "keySets"),
    providerMetadata: listOf(state, "providerMetadata"),
  };
}

function keysTable(state: unknown): string {
  const { keySets, providerMetadata } = keysJson(state);
  if (keySets.length === 0) {
    return "No policy verifies tokens; gwctl keys list has the API keys of the store\n";
  }
  const names = (field: string) => (each: unknown) =>
    listOf(each, field).join(", ") || "-";
  return tableOfJson([
    ["DOCUMENT", (each) => keySets.includes(each) ? "keys" : "metadata"],
    ["ISSUER", names("issuers")],
    ["KEY IDS", names("kids")],
    ["AGE", (each) => withUnit(fieldOf(each, "ageSeconds"), "s") ?? "-"],
    [
      "NEXT REFRESH",
      (each) => withoutFraction(textOf(each, "refreshAt")),
    ],
    ["SOURCE", "source"],
    ["ERROR", "lastError"],
  ], [...keySets, ...providerMetadata]);
}

/** Formats the limits; omits empty columns, except the remaining budget, which may be unknown. */
function limitsTable(dump: unknown): string {
  const budgets = listOf(dump, "budgets");
  if (budgets.length === 0) return "No rate limits\n";
  const columns: readonly (readonly [title: string, field: string])[] = [
    ["SCOPE", "scope"],
    ["LIMIT", "entry"],
    ["OWNER", "owner"],
    ["USED", "used"],
    ["LEFT", "remaining"],
    ["OF", "limit"],
    ["HELD", "held"],
    ["RESET", "resetSeconds"],
    ["KEYS", "keys"],
    ["EVICTED", "evictedKeys"],
    ["OVERSHOOT", "overshoot"],
    ["ADMITTED", "admitted"],
    ["REJECTED", "refused"],
    ["LEASED", "leased"],
    ["PENDING", "pending"],
    ["STATE", "state"],
    ["ERROR", "lastError"],
  ];
  const shown = columns.filter(([, field]) =>
    field === "remaining" ||
    budgets.some((budget) => fieldOf(budget, field) !== undefined)
  );
  return tableOfJson(
    shown.map(([title, field]): Column => [title, (budget) => {
      const value = fieldOf(budget, field);
      if (field === "remaining") return value === undefined ? "-" : `${value}`;
      return field === "resetSeconds" ? withUnit(value, "s") : value;
    }]),
    budgets,
  );
}

function mcpTable(state: unknown): string {
  const servers = listOf(state, "servers");
  if (servers.length === 0) return "No backend has MCP servers\n";
  const names = ["backend", "name", "address", "state"];
  return tableOfJson(
    [
      ...names.map((name): Column => [name.toUpperCase(), name]),
      ["SINCE", (each) => withoutFraction(textOf(each, "since"))],
      ["ERA", "era"],
      ["TOOLS", "tools"],
      ["LAST ERROR", (each) => {
        const error = textOf(each, "lastError");
        const at = withoutFraction(textOf(each, "lastErrorAt"));
        return error === "" ? undefined : `${error} (${at})`;
      }],
    ],
    servers,
    "-",
  );
}

function memoryTable(memory: unknown): string {
  const amounts = ["process", "heap", "smaps", "cgroup"].flatMap((part) =>
    amountsOf(part, fieldOf(memory, part))
  );
  const workers = listOf(memory, "workers").flatMap((worker) =>
    amountsOf(`worker ${textOf(worker, "worker")}`, worker)
  );
  return tableOfJson(
    [["PART", "part"], ["MEMORY", "name"], ["SIZE", "size"]],
    [...amounts, ...workers],
  ) + "\n" + tableOfJson([
    ["STORE", "name"],
    ["SCOPE", "scope"],
    ["USED", "used"],
    ["OF", "capacity"],
    ["UNIT", "unit"],
  ], listOf(memory, "stores"));
}

/** Lists the members of an object that are numbers of bytes. */
function amountsOf(part: string, amounts: unknown) {
  return Object.entries(amounts ?? {}).filter(([name, value]) =>
    name.endsWith("Bytes") && typeof value === "number"
  ).map(([name, value]) => ({
    part,
    name: name.slice(0, -"Bytes".length),
    size: `${(Number(value) / (1 << 20)).toFixed(1)} MiB`,
  }));
}

function tasksTable(tasks: unknown): string {
  const requests = listOf(tasks, "listeners").flatMap((listener) =>
    listOf(listener, "connections").flatMap((connection) =>
      listOf(connection, "requests").map((request) => ({
        ...Object(request),
        port: fieldOf(listener, "port"),
        peer: fieldOf(connection, "peer"),
      }))
    )
  );
  const omitted = Number(fieldOf(tasks, "omitted") ?? 0);
  const counts = `${textOf(tasks, "connections")} connections, ${
    textOf(tasks, "requests")
  } requests${omitted > 0 ? `; ${omitted} of both not shown` : ""}\n`;
  if (requests.length === 0) return counts;
  const names = ["phase", "method", "path", "route", "endpoint", "id"];
  return `${counts}\n${
    tableOfJson([
      ["PORT", "port"],
      ["CLIENT", "peer"],
      ["AGE", (request) => `${textOf(request, "ageMs")} ms`],
      ...names.map((name): Column => [name.toUpperCase(), name]),
    ], requests)
  }`;
}

/** Formats a time to the second. */
function withoutFraction(time: string): string {
  return time.replace(/\.\d+Z$/, "Z") || "-";
}

function withUnit(value: unknown, unit: string): string | undefined {
  return value === undefined || value === null ? undefined : `${value}${unit}`;
}
