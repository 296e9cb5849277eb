/** MCP servers that send more than anybody needs. */
import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { callModern } from "../../harness/mcp/modern_call.ts";

const PINGS = 500;

Deno.test("the answers to a flood of pings are bounded, and the call goes on", async () => {
  const over = Promise.withResolvers<void>();
  let answers = 0;
  const reply = (id: unknown, content: object) =>
    JSON.stringify({ jsonrpc: "2.0", id, ...content });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      if (request.method !== "POST") return new Response(null, { status: 405 });
      const { id, method } = await request.json();
      if (method === undefined) {
        answers++;
        await over.promise;
      }
      if (method === undefined || id === undefined) {
        return new Response(null, { status: 202 });
      }
      if (method === "tools/call") {
        const pings = Array.from(
          { length: PINGS },
          (_, index) => reply(index, { method: "ping" }),
        );
        const messages = [...pings, reply(id, { result: { content: [] } })];
        return new Response(
          messages.map((text) => `data: ${text}\n\n`).join(""),
          { headers: { "content-type": "text/event-stream" } },
        );
      }
      const content = method === "server/discover"
        ? { error: { code: -32601, message: "Method not found" } }
        : {
          result: {
            protocolVersion: "2025-11-25",
            capabilities: { tools: {} },
            tools: [{ name: "a", inputSchema: { type: "object" } }],
          },
        };
      return new Response(reply(id, content), {
        headers: { "content-type": "application/json" },
      });
    },
  );
  const gateway = await startTestGateway({
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
  const { result } = await callModern(`${gateway.origin}/mcp`, "tools/call", {
    name: "a",
  });
  over.resolve();
  await gateway[Symbol.asyncDispose]();
  await server.shutdown();

  assert.deepEqual(result.content, []);
  assert(answers <= 64, `${answers} answers`);
});
