import assert from "node:assert/strict";
import {
  revisions,
  runClientConformance,
  runConformance,
} from "../../harness/parsers/conformance.ts";
import {
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
      "2025-11-25",
      command,
    );

    const checks = scenarios["sse-retry"];
    assert.equal(failed, 0);
    assert(checks?.includes("client-sse-graceful-reconnect: SUCCESS"));
    assert(checks?.includes("client-sse-last-event-id: SUCCESS"));
  });
}
