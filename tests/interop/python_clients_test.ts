import assert from "node:assert/strict";
import {
  type ClientTraits,
  describeSetting,
  failureOf,
  type LoginCell,
  readLoginCells,
} from "../harness/login/login_cells.ts";
import { type LoginSite, startLoginSite } from "../harness/login/login_site.ts";

// The table of login_matrix_test.ts for Python MCP clients; `make interop-python` installs them and runs this file.

const folder = Deno.env.get("PYTHON_CLIENTS");
if (folder === undefined) {
  throw new Error('Set PYTHON_CLIENTS, or use "make interop-python"');
}

interface PythonClient extends ClientTraits {
  readonly name: string;
  /** Name of its virtual environment. */
  readonly environment: string;
  readonly program: string;
}

const clients: readonly PythonClient[] = [
  {
    name: "mcp 1",
    environment: "mcp1",
    program: "mcp_sdk.py",
    language: "Python",
    isStrict: false,
  },
  {
    name: "mcp 2",
    environment: "mcp2",
    program: "mcp_sdk.py",
    language: "Python",
    isStrict: true,
  },
  {
    name: "FastMCP",
    environment: "mcp2",
    program: "fastmcp_client.py",
    language: "Python",
    isStrict: true,
  },
];

for (const client of clients) {
  Deno.test(`${client.name} logs in where docs/mcp_login.md says, refreshes its token and calls a tool, and nowhere else`, async () => {
    await using site = await startLoginSite();
    const cells = await readLoginCells();

    const outcomes = await logIn(client, cells, site);

    const surprises = cells.flatMap((cell, index) => {
      const outcome = outcomes.get(index) ?? "no outcome";
      return isExpected(client, cell, outcome)
        ? []
        : [`${describeSetting(cell)}: ${outcome}`];
    });
    assert.deepEqual(surprises, []);
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

/** Runs all logins in one process; returns the outcomes by index. */
async function logIn(
  { environment, program }: PythonClient,
  cells: readonly LoginCell[],
  site: LoginSite,
): Promise<ReadonlyMap<number, string>> {
  const lines = await Promise.all(cells.map(async (cell, id) => {
    const { url, clientId, clientMetadataUrl } = await site.visitOf(cell);
    return JSON.stringify({
      id,
      url,
      refresh: cell.issuerMode === "Proxied",
      client_id: clientId,
      client_metadata_url: clientMetadataUrl,
    });
  }));
  const child = new Deno.Command(`${folder}/${environment}/bin/python`, {
    args: [new URL(`python/${program}`, import.meta.url).pathname],
    env: { NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  await new Blob([lines.join("\n")]).stream().pipeTo(child.stdin);
  const { stdout, stderr } = await output;
  const outcomes = new Map(
    new TextDecoder().decode(stdout).split("\n").filter((line) =>
      line.startsWith("{")
    ).map((line): [number, string] => {
      const { id, outcome } = JSON.parse(line);
      return [Number(id), String(outcome)];
    }),
  );
  assert(outcomes.size > 0, new TextDecoder().decode(stderr));
  return outcomes;
}
