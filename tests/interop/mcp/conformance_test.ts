import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  revisions,
  runClientHere,
  runConformance,
} from "../../harness/parsers/conformance.ts";
import {
  openPlayground,
  type Path,
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

for (const path of paths) {
  Deno.test(`MCP client resumes a broken event stream ${path.name} in the conformance scenario sse-retry`, async () => {
    const { failed, scenarios } = await runClientHere(
      "sse-retry",
      "2025-11-25",
      ({ url }) => callReconnecting(path, url),
    );

    const checks = scenarios["sse-retry"];
    assert.equal(failed, 0);
    assert(checks?.includes("client-sse-graceful-reconnect: SUCCESS"));
    assert(checks?.includes("client-sse-last-event-id: SUCCESS"));
  });
}

/** Calls a tool whose event stream breaks off, and gets the answer by resuming. */
async function callReconnecting(path: Path, url: string): Promise<void> {
  await using server = await path.reach(new URL(url).origin);
  const client = new Client({ name: "sse-retry", version: "1.0.0" });
  const target = new URL(server.origin);
  await client.connect(new StreamableHTTPClientTransport(target));
  await client.callTool({ name: "test_reconnection", arguments: {} });
  await client.close();
}
