/** One client of an MCP endpoint leaves the connections of a server to the others. */
import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";

const BATCHES = 5;
const CALLS = 220;
/** Half of the connections of a server: what one client may have. */
const SHARE = 512;

/** A server of the legacy era whose tool `slow` responds when it is told to. */
function startServer() {
  const over = Promise.withResolvers<void>();
  const full = Promise.withResolvers<void>();
  let slow = 0;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      if (request.method !== "POST") return new Response(null, { status: 405 });
      const { id, method, params } = await request.json();
      if (id === undefined) return new Response(null, { status: 202 });
      if (params?.name === "slow") {
        if (++slow === SHARE) full.resolve();
        await over.promise;
      }
      const content = method === "server/discover"
        ? { error: { code: -32601, message: "Method not found" } }
        : {
          result: {
            protocolVersion: "2025-11-25",
            capabilities: { tools: {} },
            content: [],
            tools: ["slow", "quick"].map((name) => ({
              name,
              inputSchema: { type: "object" },
            })),
          },
        };
      return Response.json({ jsonrpc: "2.0", id, ...content });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    /** Resolves when so many calls are under way as one client may have. */
    full: full.promise,
    async [Symbol.asyncDispose]() {
      over.resolve();
      await server.shutdown();
    },
  };
}

/** Opens a session of a client behind a proxy; returns a function that sends messages in it. */
async function openSession(origin: string, client: string) {
  const headers: Record<string, string> = {
    "x-forwarded-for": client,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const post = (message: unknown) =>
    fetch(`${origin}/mcp`, {
      method: "POST",
      headers,
      body: JSON.stringify(message),
    });
  const response = await post({
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: {} },
  });
  await response.body?.cancel();
  headers["mcp-session-id"] = response.headers.get("mcp-session-id") ?? "";
  return post;
}

function callOf(name: string, id: number) {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name } };
}

Deno.test("one client with many slow calls takes at most half of the connections of an MCP server", async () => {
  await using server = startServer();
  await using gateway = await startTestGateway({
    config: { trustedProxies: ["127.0.0.0/8"], workers: 1 },
    routes: [{
      backends: [{ mcp: { servers: [{ name: "a", url: server.url }] } }],
    }],
  });
  const slow: Response[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const post = await openSession(gateway.origin, "192.0.2.1");
    const calls = Array.from(
      { length: CALLS },
      (_, id) => callOf("slow", id + 1),
    );
    slow.push(await post(calls));
  }
  await server.full;

  const other = await openSession(gateway.origin, "192.0.2.2");
  const response = await other(callOf("quick", 1));
  assert.match(await response.text(), /"id":1,"result".*"content":\[\]/);

  const { upstreams } = await gateway.gateway.dataPlane.call("tasks", 0);
  assert.equal(upstreams[0]?.active, SHARE);
  for (const { body } of slow) await body?.cancel();
});
