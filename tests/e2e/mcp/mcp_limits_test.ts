/** Limits whose requests count as the tools that they call are worth. */
import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { callModern } from "../../harness/mcp/modern_call.ts";

/** Starts a gateway with two servers, and a limit of 10 per hour. @param more Fields of the limit. */
async function start(more: Readonly<Record<string, unknown>>, workers = 1) {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { id, method } = await request.json();
      const schema = { type: "object" };
      const result = method === "server/discover"
        ? { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }
        : method === "tools/list"
        ? {
          tools: ["report", "find"].map((name) => ({
            name,
            inputSchema: schema,
          })),
        }
        : { content: [{ type: "text", text: "done" }] };
      return Response.json({
        jsonrpc: "2.0",
        id,
        result: { resultType: "complete", ...result },
      });
    },
  );
  const url = `http://127.0.0.1:${server.addr.port}/mcp`;
  const gateway = await startTestGateway({
    config: { workers },
    routes: [{
      policies: {
        rateLimit: { local: [{ requests: 10, unit: "Hours", ...more }] },
      },
      backends: [{
        mcp: {
          discovery: "Search",
          servers: [{ name: "cheap", url }, { name: "dear", url }],
        },
      }],
    }],
  });
  const endpoint = `${gateway.origin}/mcp`;
  return {
    endpoint,
    gateway,
    call: async (name: string, args = {}) => {
      const params = { name, arguments: args };
      const { status } = await callModern(endpoint, "tools/call", params);
      return status;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await server.shutdown();
    },
  };
}

const byTool =
  "!has(mcp.tool) ? 0 : mcp.tool.name == 'dear_report' ? 6 : mcp.server == 'dear' ? 3 : 1";

for (const workers of [1, 2]) {
  Deno.test(`tools cost what they weigh, also within call_tool (workers: ${workers})`, async () => {
    await using site = await start({ weight: byTool }, workers);
    const { call, endpoint } = site;
    const lists = [];
    for (let i = 0; i < 12; i++) {
      lists.push((await callModern(endpoint, "tools/list")).status);
    }

    const first = await call("call_tool", {
      name: "dear_report",
      arguments: {},
    });
    const { status: tooDear, text } = await callModern(
      endpoint,
      "tools/call",
      { name: "dear_report", arguments: {} },
    );
    const statuses = [
      await call("dear_find"),
      await call("dear_find"),
      await call("cheap_find"),
      await call("cheap_find"),
    ];
    const free = await callModern(endpoint, "tools/list");

    assert.deepEqual(new Set(lists), new Set([200]));
    assert.deepEqual([first, tooDear], [200, 429]);
    assert.match(text, /has 4 left, and the request counts as 6/);
    assert.deepEqual(statuses, [200, 429, 200, 429]);
    assert.equal(free.status, 200);
  });
}

Deno.test("each key has what it uses, and a request that no weight is known of takes all", async () => {
  const key = "request.headers['x-user']";
  await using site = await start({ weight: byTool, key });
  const post = (user: string, body: unknown) =>
    fetch(site.endpoint, {
      method: "POST",
      headers: { "content-type": "application/json", "x-user": user },
      body: JSON.stringify(body),
    });
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const call = {
    jsonrpc: "2.0",
    id: 2,
    method: "tools/call",
    params: { name: "dear_report", arguments: {} },
  };

  const statuses = [];
  // A batch has several targets.
  for (const body of [[list, call], [list, call], call]) {
    const response = await post("one", body);
    await response.body?.cancel();
    statuses.push(response.status === 429);
  }
  const other = await post("two", call);
  await other.body?.cancel();

  assert.deepEqual(statuses, [false, true, true]);
  assert.notEqual(other.status, 429);
  assert.match(site.gateway.log.join("\n"), /whole budget.*has no value/s);
});

Deno.test("a weight is for requests, and a number", async () => {
  const problems = async (limit: object) => {
    try {
      const rateLimit = { local: [limit] };
      await using _ = await startTestGateway({
        routes: [{ policies: { rateLimit } }],
      });
      return "";
    } catch (error) {
      return String(error);
    }
  };

  const tokens = await problems({ tokens: 10, unit: "Hours", weight: "2" });
  const text = await problems({ requests: 10, unit: "Hours", weight: "'2'" });

  assert.match(tokens, /expected "weight" with requests only/);
  assert.match(text, /expected a number/);
});
