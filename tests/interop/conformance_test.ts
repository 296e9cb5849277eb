import assert from "node:assert/strict";
import {
  runClientConformance,
  runConformance,
} from "../harness/conformance.ts";
import { directly, openPlayground, paths } from "../harness/paths.ts";

Deno.test("playground passes every server scenario of the MCP conformance suite", async () => {
  await using playground = await openPlayground(directly);

  const { passed, failed, problems, scenarios } = await runConformance(
    playground.mcpUrl,
  );

  assert.deepEqual(problems, []);
  assert.deepEqual({ passed, failed }, { passed: 84, failed: 0 });
  assert.equal(Object.keys(scenarios).length, 33);
});

for (const path of paths.filter((path) => path !== directly)) {
  Deno.test(`MCP conformance suite finds ${path.name} exactly what it finds directly`, async () => {
    await using far = await openPlayground(path);
    await using near = await openPlayground(directly);

    const actual = await runConformance(far.mcpUrl);
    const expected = await runConformance(near.mcpUrl);

    assert.deepEqual(actual, expected);
  });
}

for (const { name } of paths) {
  Deno.test(`MCP client resumes a broken event stream ${name} in the conformance scenario sse-retry`, async () => {
    const client = "tests/interop/sse_retry_client.ts";
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
