/** Clients of MCP servers that do not read what they get. */
import assert from "node:assert/strict";
import http2 from "node:http2";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

function startServer() {
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { id, method } = await request.json();
      const description = "a".repeat(900_000);
      const tool = { name: "a", description, inputSchema: { type: "object" } };
      const result = method === "server/discover"
        ? { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }
        : { tools: [tool], ttlMs: 60_000 };
      return Response.json({ jsonrpc: "2.0", id, result });
    },
  );
}

/** Requests the tools, and reads nothing but the status. */
async function listUnread(client: http2.ClientHttp2Session): Promise<number> {
  const method = "tools/list";
  const stream = client.request({
    ":method": "POST",
    ":path": "/mcp",
    "content-type": "application/json",
    accept: "application/json",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
  });
  stream.end(
    JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { _meta: META } }),
  );
  const { promise, resolve } = Promise.withResolvers<number>();
  stream.on("response", (headers) => resolve(Number(headers[":status"])));
  return await promise;
}

Deno.test("responses that a client does not read are bounded together", async () => {
  const server = startServer();
  await using gateway = await startTestGateway({
    config: { limits: { maxBodyMemoryBytes: 4_000_000 } },
    routes: [{
      backends: [{
        mcp: {
          servers: [{
            name: "a",
            url: `http://127.0.0.1:${server.addr.port}/mcp`,
          }],
        },
      }],
    }],
  });
  const client = http2.connect(gateway.origin, {
    settings: { initialWindowSize: 0 },
  });
  const statuses: number[] = [];
  for (let sent = 0; sent < 6; sent++) statuses.push(await listUnread(client));
  const closed = Promise.withResolvers<void>();
  client.on("close", closed.resolve);
  client.destroy();
  await closed.promise;
  await server.shutdown();

  assert.deepEqual(statuses, [200, 200, 200, 503, 503, 503]);
});
