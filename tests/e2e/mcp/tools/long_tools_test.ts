/** A tool that no model could read costs a server this tool, and nobody else anything. */
import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { startDescribedServer } from "../../../harness/mcp/described_server.ts";
import { listTools } from "../../../harness/mcp/modern_call.ts";

const MEGABYTE = 1024 * 1024;

Deno.test("a tool of more than 1 MB is dropped from the list and named once in the log, and the others stay", async () => {
  await using server = startDescribedServer({
    endless: "x".repeat(MEGABYTE + 1),
    long: "x".repeat(MEGABYTE - 1024),
    short: "Says hello",
  });
  await using gateway = await startTestGateway({
    routes: [{
      name: "tools",
      backends: [{ mcp: { servers: [{ name: "docs", url: server.url }] } }],
    }],
  });

  const tools = await listTools(`${gateway.origin}/mcp`);
  await listTools(`${gateway.origin}/mcp`);

  assert.deepEqual(tools, ["long", "short"]);
  const dropped = gateway.log.filter((line) =>
    line.includes("lists items that are")
  );
  assert.equal(dropped.length, 1);
  assert.match(dropped.join(), /"?server"?[=:]"?docs.*"?dropped"?[=:]1\b/);
});
