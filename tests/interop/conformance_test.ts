import assert from "node:assert/strict";
import { startPlayground } from "../../cli/dev/playground.ts";
import {
  runClientConformance,
  runConformance,
} from "../harness/conformance.ts";

Deno.test("playground passes every server scenario of the MCP conformance suite", async () => {
  await using playground = startPlayground();

  const { passed, failed, problems, scenarios } = await runConformance(
    playground.mcpUrl,
  );

  assert.deepEqual(problems, []);
  assert.deepEqual({ passed, failed }, { passed: 84, failed: 0 });
  assert.equal(Object.keys(scenarios).length, 33);
});

Deno.test("MCP client resumes a broken event stream in the conformance scenario sse-retry", async () => {
  const command = [
    Deno.execPath(),
    "run",
    "-A",
    "tests/interop/sse_retry_client.ts",
  ];

  const { failed, scenarios } = await runClientConformance(
    "sse-retry",
    command,
  );

  assert.equal(failed, 0);
  assert(
    scenarios["sse-retry"]?.includes("client-sse-graceful-reconnect: SUCCESS"),
  );
  assert(scenarios["sse-retry"]?.includes("client-sse-last-event-id: SUCCESS"));
});
