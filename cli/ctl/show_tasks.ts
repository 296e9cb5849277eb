import { readAdmin } from "../client/admin_client.ts";
import { print } from "../output/output.ts";
import { fieldOf, listOf, textOf } from "../output/json_fields.ts";
import { printAs, type TableOptions } from "../output/print_as.ts";
import { tableOf } from "../output/table.ts";

/** Limit and output format. */
export interface ShowTasksOptions extends TableOptions {
  /** Maximum number of connections and requests. */
  readonly limit?: number;
}

/** Prints the current activity of a running gateway. */
export async function showTasks(
  { output, limit, ...address }: ShowTasksOptions,
): Promise<void> {
  const query = limit === undefined ? "" : `?limit=${limit}`;
  const tasks = await readAdmin(address, `/debug/tasks${query}`, "listeners");
  if (output !== "table") return await printAs(output, tasks);
  const requests = listOf(tasks, "listeners").flatMap((listener) =>
    listOf(listener, "connections").flatMap((connection) =>
      listOf(connection, "requests").map((request) => [
        textOf(listener, "port"),
        textOf(connection, "peer"),
        `${textOf(request, "ageMs")} ms`,
        ...["phase", "method", "path", "route", "endpoint", "id"].map((name) =>
          textOf(request, name)
        ),
      ])
    )
  );
  const omitted = Number(fieldOf(tasks, "omitted") ?? 0);
  const counts = `${textOf(tasks, "connections")} connections, ${
    textOf(tasks, "requests")
  } requests${omitted > 0 ? `; ${omitted} of both not shown` : ""}\n`;
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
