/** Every era meets every era: real clients and servers of all SDKs, through one endpoint. */
import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { startBreakingProxy } from "./breaking_proxy.ts";
import {
  check,
  type EraClient,
  type EraServer,
  features,
  type Outcome,
  type Peer,
} from "./era_features.ts";
import {
  type CellPlan,
  eraReport,
  type EraRow,
  planOf,
  rowText,
} from "./era_report.ts";
import {
  pythonEraClients,
  type ServerCheck,
  startPythonServers,
} from "./python_peers.ts";
import { startSdk1Server } from "./sdk1_server.ts";
import { startSdk2LegacyServer, startSdk2ModernServer } from "./sdk2_server.ts";
import { sdk1Client, sdk2Clients } from "./sdk_clients.ts";

const page = new URL("../../../docs/conformance/mcp_eras.md", import.meta.url);
/** Without the SDKs in Python, which `make interop-python` installs, the test covers those in TypeScript. */
const hasPython = Deno.env.has("PYTHON_CLIENTS");

Deno.test("clients use servers of all eras through one endpoint as docs/conformance/mcp_eras.md reports", async () => {
  await using stack = new AsyncDisposableStack();
  const servers = [
    startSdk1Server(),
    startSdk2LegacyServer(),
    startSdk2ModernServer(),
    ...hasPython ? await startPythonServers() : [],
  ];
  for (const server of servers) stack.use(server);
  const gateway = stack.use(
    await startTestGateway({
      routes: [{
        backends: [{
          mcp: {
            servers: servers.map(({ prefix, url }) => ({ name: prefix, url })),
          },
        }],
      }],
    }),
  );
  const proxy = stack.use(await startBreakingProxy(gateway.origin));

  const rows: EraRow[] = [];
  for (const client of [sdk1Client, ...sdk2Clients]) {
    rows.push(
      ...await rowsOf(
        client,
        servers,
        (checks) => run(client, `${proxy.origin}/mcp`, checks),
      ),
    );
  }
  for (const client of hasPython ? pythonEraClients : []) {
    rows.push(
      ...await rowsOf(
        client,
        servers,
        (checks) => client.run(`${proxy.origin}/mcp`, checks),
      ),
    );
  }

  const resuming = rows.filter(({ client }) => client.era === "legacy");
  assert.equal(proxy.broken, resuming.length);
  if (hasPython && Deno.env.get("GOLDEN") === "update") {
    await Deno.writeTextFile(page, eraReport(rows));
  }
  const report = await Deno.readTextFile(page);
  if (hasPython) assert.equal(report, eraReport(rows));
  const known = new Set(report.replaceAll(/ {2,}/g, " ").split("\n"));
  assert.deepEqual(rows.map(rowText).filter((row) => !known.has(row)), []);
});

/** Makes the checks of a client; those that fail have their error in the row. */
async function rowsOf(
  client: Peer,
  servers: readonly EraServer[],
  runChecks: (checks: readonly ServerCheck[]) => Promise<readonly Outcome[]>,
): Promise<readonly EraRow[]> {
  const planned = servers.map((server) => ({
    server,
    plans: features.map((feature) => planOf(client, server, feature)),
  }));
  const checks = planned.flatMap(({ server: { prefix }, plans }) =>
    plans.flatMap((plan) =>
      "check" in plan ? [{ server: prefix, check: plan.check }] : []
    )
  );
  const outcomes = [...await runChecks(checks)];
  const cellOf = (plan: CellPlan) => {
    if ("note" in plan) return plan.note;
    const outcome = outcomes.shift() ?? "no outcome";
    return outcome === "yes" ? plan.yes : outcome;
  };
  return planned.map(({ server, plans }) => ({
    client,
    server,
    cells: plans.map(cellOf),
  }));
}

async function run(
  client: EraClient,
  url: string,
  checks: readonly ServerCheck[],
): Promise<readonly Outcome[]> {
  await using connection = await client.connect(url);
  const outcomes: Outcome[] = [];
  for (const { server, check: name } of checks) {
    outcomes.push(await check(connection, name, server));
  }
  return outcomes;
}
