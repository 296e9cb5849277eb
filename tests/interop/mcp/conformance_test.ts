import assert from "node:assert/strict";
import {
  revisions,
  runClientConformance,
  runConformance,
} from "../../harness/parsers/conformance.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { startOneEra } from "../../harness/mcp/one_era.ts";
import {
  directly,
  openPlayground,
  paths,
  throughRules,
} from "../../harness/process/paths.ts";

/**
 * Checks of each revision that pass, at least. The fixture of the suite itself passes 130 of 2026-07-28; what fails here belongs to
 * the extension for tasks.
 */
const passing = { "2025-11-25": 84, "2026-07-28": 164 } as const;
const optional = /^tasks-/;

for (const revision of revisions) {
  Deno.test(`playground passes the MCP conformance suite of ${revision}, and so it does through a gateway that forwards or reads its messages`, async () => {
    const [direct, ...others] = await Promise.all(
      [...paths, throughRules].map(async (path) => {
        await using playground = await openPlayground(path);
        return await runConformance(playground.mcpUrl, revision);
      }),
    );

    assert(direct);
    assert.deepEqual(
      direct.problems.filter((problem) => !optional.test(problem)),
      [],
    );
    assert.equal(direct.passed, passing[revision]);
    for (const other of others) assert.deepEqual(other, direct);
  });
}

for (const { name } of paths) {
  Deno.test(`MCP client resumes a broken event stream ${name} in the conformance scenario sse-retry`, async () => {
    const client = "tests/interop/mcp/sse_retry_client.ts";
    const command = [Deno.execPath(), "run", "-A", client, encodeURI(name)];

    const { failed, scenarios } = await runClientConformance(
      "sse-retry",
      command,
    );

    const checks = scenarios["sse-retry"];
    assert.equal(failed, 0);
    assert(checks?.includes("client-sse-graceful-reconnect: SUCCESS"));
    assert(checks?.includes("client-sse-last-event-id: SUCCESS"));
  });
}

/** The suite passes this scenario only if the server closes a stream; the gateway keeps it open, and resumes it at the server itself. */
const endsStreams = "server-sse-polling";
/**
 * Checks that a server of the legacy era cannot pass, for it cannot say this: keys of its own for its questions, news of other sessions, and that the client of a call
 * lacks a capability.
 */
const modernOnly = [
  "sep-2575-missing-capability-http-400",
  "sep-2575-server-rejects-undeclared-capability",
  "input-required-result-basic-elicitation",
  "input-required-result-ignore-extra-params",
  "sep-2575-server-sends-prompts-list-changed-on-subscription",
  "sep-2575-server-sends-tools-list-changed-on-subscription",
];

for (const revision of revisions) {
  Deno.test(`one endpoint in front of several MCP servers passes the conformance suite of ${revision} as its server does`, async () => {
    await using playground = await openPlayground(directly);
    await using other = startOtherServer();
    const direct = await runConformance(playground.mcpUrl, revision);
    for (const more of [[], [other.url, "http://127.0.0.1:1/mcp"]]) {
      await using gateway = await startEndpoint([playground.mcpUrl, ...more]);

      const { scenarios, problems } = await runConformance(
        `${gateway.origin}/mcp`,
        revision,
      );

      assert.deepEqual(
        { ...scenarios, [endsStreams]: [] },
        { ...direct.scenarios, [endsStreams]: [] },
      );
      assert.deepEqual(
        problems.filter((problem) => !optional.test(problem)),
        [],
      );
    }
  });

  for (const era of ["legacy", "modern"] as const) {
    Deno.test(`one endpoint translates for the conformance suite of ${revision} in front of a server of the ${era} era`, async () => {
      await using playground = await openPlayground(directly);
      await using server = startOneEra(playground.mcpUrl, era);
      await using gateway = await startEndpoint([server.url]);

      const { problems } = await runConformance(
        `${gateway.origin}/mcp`,
        revision,
      );

      const isKnown = (problem: string) =>
        optional.test(problem) ||
        era === "legacy" && modernOnly.some((known) => problem.includes(known));
      assert.deepEqual(problems.filter((problem) => !isKnown(problem)), []);
    });
  }
}

/** A server with a tool, and one that SDKs reject. */
function startOtherServer() {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { id, method } = await request.json();
      const result = method === "server/discover"
        ? { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }
        : {
          tools: [
            {
              name: "another",
              description: "A tool of another server",
              inputSchema: { type: "object" },
            },
            { name: "invalid", inputSchema: { type: "string" } },
          ],
        };
      return Response.json({ jsonrpc: "2.0", id, result });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function startEndpoint(urls: readonly string[]) {
  const servers = urls.map((url, index) => ({ name: `server${index}`, url }));
  return startTestGateway({
    routes: [{ backends: [{ mcp: { servers, prefix: "Never" } }] }],
  });
}
