import assert from "node:assert/strict";
import { createSums } from "../../../../src/telemetry/traffic/request_sums.ts";
import {
  usageColumns,
  UsageTable,
} from "../../../../src/telemetry/traffic/usage_table.ts";

const row = {
  start: 0,
  ...{ key: "k", user: "u", team: "t", tag: "t", model: "m", provider: "p" },
  ...{ route: "r", server: "s", tool: "t" },
  ...createSums(),
  requests: 1,
};

Deno.test("usage: rows that differ in any column are apart", () => {
  for (const column of [...usageColumns, "start"] as const) {
    const table = new UsageTable();
    const other = column === "start" ? 1 : "other";
    for (const each of [row, row, { ...row, [column]: other }]) table.add(each);
    const requests = table.values().map(({ requests }) => requests);
    assert.deepEqual(requests, [2, 1], column);
  }
});
