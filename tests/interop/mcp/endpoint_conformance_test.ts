import assert from "node:assert/strict";
import {
  type Revision,
  revisions,
  runClientConformance,
  runConformance,
} from "../../harness/parsers/conformance.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { startOneEra } from "../../harness/mcp/one_era.ts";
import { directly, openPlayground } from "../../harness/process/paths.ts";
import { type Column, reportOf, tableOf } from "./conformance_report.ts";

const reportFile = new URL(
  "../../../docs/conformance/mcp.md",
  import.meta.url,
);

/** The extension for tasks, which is not scored. */
const optional = /^tasks-/;
/** The suite passes this scenario only if the server closes a stream; the gateway keeps it open, and resumes it at the server itself. */
const endsStreams = "server-sse-polling";
/** Passes one check more behind an endpoint, which rejects invalid task IDs itself; the suite's server does not. */
const ownTasks = "tasks-dispatch-and-envelope";
/**
 * Checks that a server of the legacy era cannot pass, for it cannot say this: keys of its own for its questions, news of other
 * sessions, and that the client of a call lacks a capability.
 */
const modernOnly = [
  "sep-2575-missing-capability-http-400",
  "sep-2575-server-rejects-undeclared-capability",
  "input-required-result-basic-elicitation",
  "input-required-result-ignore-extra-params",
  "sep-2575-server-sends-prompts-list-changed-on-subscription",
  "sep-2575-server-sends-tools-list-changed-on-subscription",
];

/** Columns of the report; each starts what the suite tests, in front of the server at `url`. */
const places = {
  "the server itself": (url: string) =>
    Promise.resolve({ url, [Symbol.asyncDispose]: () => Promise.resolve() }),
  "1 server": (url: string) => startEndpoint(url, 1),
  "3 servers": (url: string) => startEndpoint(url, 3),
  "20 servers": (url: string) => startEndpoint(url, 20),
  "a server until 2025-11-25": (url: string) => startBridge(url, "legacy"),
  "a server of 2026-07-28": (url: string) => startBridge(url, "modern"),
};

/** Scenarios for clients, but for those of logins at servers. */
const clientScenarios = {
  "2025-11-25": [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "json-schema-2020-12-preservation",
  ],
  "2026-07-28": [
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
  ],
};

Deno.test("an endpoint passes the MCP conformance suites for servers and clients as docs/conformance/mcp.md reports", async () => {
  const tables: string[] = [];
  for (const revision of revisions) {
    const columns: (Column & Problems)[] = [];
    for (const [name, start] of Object.entries(places)) {
      await using playground = await openPlayground(directly);
      await using place = await start(playground.mcpUrl);
      const result = await runConformance(place.url, revision);
      columns.push({ name, ...result });
    }
    assertServers(columns);
    tables.push(tableOf(`Server scenarios of ${revision}`, columns));
  }
  for (const revision of revisions) {
    const columns = await Promise.all([
      runClients(revision, "legacy", "a client until 2025-11-25"),
      runClients(revision, "modern", "a client of 2026-07-28"),
    ]);
    tables.push(tableOf(`Client scenarios of ${revision}`, columns));
  }

  const report = reportOf(tables);
  if (Deno.env.get("GOLDEN") === "update") {
    await Deno.writeTextFile(reportFile, report);
  }
  const published = await Deno.readTextFile(reportFile);
  const lines = new Set(published.split("\n"));
  // The difference of the whole report would be too long to read.
  assert.deepEqual(report.split("\n").filter((line) => !lines.has(line)), []);
  assert.equal(published, report);
});

/** Runs the client scenarios one by one, as each has a time limit. */
async function runClients(
  revision: Revision,
  era: "legacy" | "modern",
  name: string,
): Promise<Column> {
  const file = "tests/interop/mcp/endpoint_client.ts";
  const command = [Deno.execPath(), "run", "-A", "--no-check", file, era];
  const columns: Column["scenarios"][] = [];
  for (const scenario of clientScenarios[revision]) {
    const result = await runClientConformance(scenario, revision, command);
    assert.deepEqual(result.problems, [], name);
    columns.push(result.scenarios);
  }
  return { name, scenarios: Object.assign({}, ...columns) };
}

/** Behind an endpoint, a server passes what it passes itself. */
function assertServers(columns: readonly (Column & Problems)[]): void {
  const [direct, ...endpoints] = columns;
  for (const { name, scenarios, problems } of endpoints) {
    const isLegacy = name === "a server until 2025-11-25";
    const isKnown = (problem: string) =>
      optional.test(problem) ||
      isLegacy && modernOnly.some((known) => problem.includes(known));
    assert.deepEqual(problems.filter((one) => !isKnown(one)), [], name);
    if (!name.endsWith("servers")) continue;
    assert.deepEqual(
      { ...scenarios, [endsStreams]: [], [ownTasks]: [] },
      { ...direct?.scenarios, [endsStreams]: [], [ownTasks]: [] },
      name,
    );
  }
}

interface Problems {
  readonly problems: readonly string[];
}

/** Starts an endpoint in front of the server at `url`, others with a tool each, and one that is down. */
async function startEndpoint(url: string, servers: number) {
  const others = Array.from(
    { length: Math.max(0, servers - 2) },
    (_, index) => startOther(`another_${index}`),
  );
  const dead = servers > 1 ? ["http://127.0.0.1:1/mcp"] : [];
  const urls = [url, ...others.map((other) => other.url), ...dead];
  const gateway = await startTestGateway({
    routes: [{
      backends: [{
        mcp: {
          servers: urls.map((url, index) => ({ name: `server${index}`, url })),
          prefix: "Never",
        },
      }],
    }],
  });
  return {
    url: `${gateway.origin}/mcp`,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      for (const other of others) await other[Symbol.asyncDispose]();
    },
  };
}

/** Starts an endpoint in front of a server that speaks one era only. */
async function startBridge(url: string, era: "legacy" | "modern") {
  const server = startOneEra(url, era);
  const endpoint = await startEndpoint(server.url, 1);
  return {
    url: endpoint.url,
    async [Symbol.asyncDispose]() {
      await endpoint[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Starts a server with a tool, and one that SDKs reject. */
function startOther(tool: string) {
  const tools = [
    {
      name: tool,
      description: "A tool of another server",
      inputSchema: { type: "object" },
    },
    { name: "invalid", inputSchema: { type: "string" } },
  ];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { id, method } = await request.json();
      const result = method === "server/discover"
        ? { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }
        : { tools };
      return Response.json({ jsonrpc: "2.0", id, result });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
