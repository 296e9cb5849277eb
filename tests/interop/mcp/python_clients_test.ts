import assert from "node:assert/strict";
import {
  describeSetting,
  failureOf,
  type LoginCell,
  readLoginCells,
} from "../../harness/login/login_cells.ts";
import { startLoginSite } from "../../harness/login/login_site.ts";
import {
  logInWithPython,
  type PythonClient,
  pythonClients,
} from "../../harness/login/python_clients.ts";

// The table of login_matrix_test.ts for Python MCP clients; `make interop-python` installs them and runs this file.

for (const client of pythonClients) {
  Deno.test(`${client.name} logs in where docs/mcp_login_reference.md says, refreshes its token and calls a tool, and nowhere else`, async () => {
    await using site = await startLoginSite();
    const cells = await readLoginCells();

    const outcomes = await logInWithPython(
      client,
      await Promise.all(cells.map(async (cell) => ({
        ...await site.visitOf(cell),
        refresh: cell.issuerMode === "Proxied",
      }))),
    );

    assert.deepEqual(
      cells.flatMap((cell, index) => {
        const outcome = outcomes[index] ?? "";
        return isExpected(client, cell, outcome)
          ? []
          : [`${describeSetting(cell)}: ${outcome}`];
      }),
      [],
    );
  });
}

function isExpected(
  client: PythonClient,
  cell: LoginCell,
  outcome: string,
): boolean {
  if (!cell.logsIn(client)) return failureOf(cell, client).test(outcome);
  return outcome ===
    (cell.issuerMode === "Proxied" ? "refreshed" : "logged in");
}
