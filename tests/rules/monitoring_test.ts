import assert from "node:assert/strict";
import { alertsFile, dashboardQueries } from "../harness/servers/monitoring.ts";
import { readFile } from "./repository.ts";

const metricName = /\b(?:gateway|process)_[a-z_]+/g;

/** Names of series that the gateway exports, by the table of the manual, which a test compares with the source. */
async function knownSeries(): Promise<ReadonlySet<string>> {
  const manual = await readFile("docs/logs_and_metrics.md");
  const [, table = ""] = manual.split("\n## Metrics\n");
  const names = [...table.matchAll(/`((?:gateway|process)_[a-z_]+)`/g)].map((
    [, name = ""],
  ) => name);
  return new Set(
    names.flatMap((name) => [name, `${name}_bucket`, `${name}_count`]),
  );
}

Deno.test("the dashboard queries only metrics that exist", async () => {
  const known = await knownSeries();
  const queries = await dashboardQueries();

  const unknown = queries.flatMap(({ expr }) => expr.match(metricName) ?? [])
    .filter((name) => !known.has(name));

  assert(queries.length > 20);
  assert.deepEqual(unknown, []);
});

Deno.test("the alert rules read only metrics that exist", async () => {
  const known = await knownSeries();
  const text = await Deno.readTextFile(alertsFile);

  const names = text.match(metricName) ?? [];

  assert(names.length > 10);
  assert.deepEqual(names.filter((name) => !known.has(name)), []);
});
