import assert from "node:assert/strict";
import { mergeMcpServers } from "../../../../src/dataplane/calls/mcp_calls.ts";
import { unusedServer } from "../../../../src/mcp/servers/server_status.ts";
import type { BackendMcpServer } from "../../../../src/proxy/mcp/mcp_endpoints.ts";

function server(more: Partial<BackendMcpServer>): BackendMcpServer {
  const settings = {
    name: "docs",
    prefix: "",
    tools: undefined,
    descriptions: new Map(),
    timeouts: { connectMs: 1, listMs: 1, callMs: 1 },
  };
  const address = "docs.example";
  return {
    backend: "default/tools",
    ...unusedServer({ settings, address }),
    ...more,
  };
}

Deno.test("a server has the worst state that a worker sees, and what any of them knows", () => {
  const unused = server({});
  const up = server({
    state: "up",
    era: "legacy",
    tools: 3,
    since: "2026-01-01T00:00:09.000Z",
    lastError: "came back later",
    lastErrorAt: "2026-01-01T00:00:08.000Z",
  });
  const failed = server({
    state: "failed",
    since: "2026-01-01T00:00:05.000Z",
    lastError: "refused",
    lastErrorAt: "2026-01-01T00:00:05.000Z",
  });
  const other = server({ backend: "default/others" });
  const expected = {
    ...failed,
    era: "legacy",
    tools: 3,
    lastError: "came back later",
    lastErrorAt: "2026-01-01T00:00:08.000Z",
  };

  assert.deepEqual(
    mergeMcpServers([[unused, other], [up], [failed]]),
    [expected, other],
  );
  assert.deepEqual(
    mergeMcpServers([[failed], [up, other], [unused]]),
    [expected, other],
  );
});

Deno.test("of the same state in two workers, the later one counts", () => {
  const early = server({ state: "up", since: "2026-01-01T00:00:01.000Z" });
  const late = server({ state: "up", since: "2026-01-01T00:00:02.000Z" });

  assert.deepEqual(mergeMcpServers([[early], [late]]), [late]);
  assert.deepEqual(mergeMcpServers([[late], [early]]), [late]);
});
