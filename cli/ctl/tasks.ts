import { type AdminAddress, readAdmin } from "../admin_client.ts";
import { print } from "../output.ts";
import { printable } from "../tui/printable.ts";
import { fieldOf, listOf, printAs, tableOf } from "./print_as.ts";

/** What to show, and how. */
export interface ShowTasksOptions extends AdminAddress {
  readonly output: "table" | "yaml" | "json";
  /** Connections and requests. */
  readonly limit?: number;
}

/** Prints what a running gateway is doing. */
export async function showTasks(
  { output, limit, ...address }: ShowTasksOptions,
): Promise<void> {
  const query = limit === undefined ? "" : `?limit=${limit}`;
  const tasks = await readAdmin(address, `/debug/tasks${query}`, "listeners");
  if (output !== "table") return await printAs(output, tasks);
  const requests = listOf(tasks, "listeners").flatMap((listener) =>
    listOf(listener, "connections").flatMap((connection) =>
      listOf(connection, "requests").map((request) => [
        cell(listener, "port"),
        cell(connection, "peer"),
        `${cell(request, "ageMs")} ms`,
        ...["phase", "method", "path", "route", "endpoint", "id"].map((name) =>
          cell(request, name)
        ),
      ])
    )
  );
  const omitted = Number(fieldOf(tasks, "omitted") ?? 0);
  const counts = `${cell(tasks, "connections")} connections, ${
    cell(tasks, "requests")
  } requests${omitted > 0 ? `; ${omitted} of both are not shown` : ""}\n`;
  await print(
    requests.length === 0
      ? counts
      : `${counts}\n${tableOf([titles, ...requests])}`,
  );
}

const titles = [
  "PORT",
  "CLIENT",
  "AGE",
  "PHASE",
  "METHOD",
  "PATH",
  "ROUTE",
  "ENDPOINT",
  "ID",
];

function cell(value: unknown, field: string): string {
  return printable(String(fieldOf(value, field) ?? ""));
}
