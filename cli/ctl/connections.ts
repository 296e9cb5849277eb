import { fieldOf, listOf, textOf } from "../output/json_fields.ts";
import { tableOfJson } from "../output/table.ts";

/** Returns the path of the tasks of a gateway. @param options Its `limit` bounds the connections and requests. */
export function tasksPath({ limit }: { readonly limit?: number }): string {
  return `/debug/tasks${limit === undefined ? "" : `?limit=${limit}`}`;
}

/** Lists the connections of clients, each with its port: those with requests first, then by age. */
export function connectionsOf(tasks: unknown): readonly unknown[] {
  const connections = listOf(tasks, "listeners").flatMap((listener) =>
    listOf(listener, "connections").map((connection): object => ({
      port: fieldOf(listener, "port"),
      ...Object(connection),
    }))
  );
  const isBusy = (each: unknown) => Number(listOf(each, "requests").length > 0);
  return connections.toSorted((a, b) =>
    isBusy(b) - isBusy(a) ||
    Number(fieldOf(b, "ageMs")) - Number(fieldOf(a, "ageMs"))
  );
}

/** Formats connections as a table: who, for how long, and what they do. */
export function connectionsTable(tasks: unknown): string {
  const connections = connectionsOf(tasks);
  const count = `${textOf(tasks, "connections")} connections\n`;
  if (connections.length === 0) return count;
  return `${count}\n${
    tableOfJson(
      [
        ["PORT", "port"],
        ["ADDRESS", "peer"],
        ["CLIENT", clientsOf],
        ["FOR", (each) =>
          `${Math.round(Number(fieldOf(each, "ageMs")) / 1000)}s`],
        ["PROTOCOL", "protocol"],
        ["REQUESTS", (each) =>
          listOf(each, "requests").length],
        ["UNDER WAY", underWay],
      ],
      connections,
      "-",
    )
  }`;
}

function clientsOf(connection: unknown): string | undefined {
  const clients = listOf(connection, "requests")
    .map((request) => textOf(request, "client")).filter((each) => each !== "");
  return [...new Set(clients)].join(", ") || undefined;
}

function underWay(connection: unknown): string {
  const [first, ...others] = listOf(connection, "requests");
  if (first === undefined) return "idle";
  const names = ["method", "host", "path"].map((name) => textOf(first, name));
  const [method, host, path] = names;
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return `${method} ${host}${path} (${textOf(first, "phase")})${more}`;
}
