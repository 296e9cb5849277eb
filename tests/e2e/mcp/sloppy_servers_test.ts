/** Servers that SDKs get along with, although they do not keep to the specification. */
import { Client } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";

type Answer = (id: number) => Response;

const result = { content: [{ type: "text", text: "found" }] };
const json = (message: object): Response =>
  Response.json({ jsonrpc: "2.0", ...message });
const events = (...data: readonly string[]): Response =>
  new Response(data.map((each) => `data: ${each}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });

const answers: Readonly<Record<string, Answer>> = {
  noise: (id) =>
    events("ping", "{}", JSON.stringify({ jsonrpc: "2.0", id, result })),
  batch: (id) => events(JSON.stringify([{ jsonrpc: "2.0", id, result }])),
  broken: () => events("{"),
  nameless: () =>
    json({ id: null, error: { code: -32600, message: "No such page" } }),
};

/** Starts an endpoint of a server of 2025-11-25, whose tools answer as above. */
async function start() {
  await using opening = new AsyncDisposableStack();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const text = await request.text();
      const { id, method, params } = text === "" ? {} : JSON.parse(text);
      if (id === undefined) return new Response(null, { status: 202 });
      if (method === "initialize") {
        const { protocolVersion } = params;
        return json({ id, result: { protocolVersion, capabilities: {} } });
      }
      return answers[params.name]?.(id) ??
        json({ id, error: { code: -32601, message: "Method not found" } });
    },
  );
  opening.defer(() => server.shutdown());
  const url = `http://127.0.0.1:${server.addr.port}/mcp`;
  const gateway = opening.use(
    await startTestGateway({
      routes: [{ backends: [{ mcp: { servers: [{ name: "a", url }] } }] }],
    }),
  );
  const opened = opening.move();
  return {
    url: `${gateway.origin}/mcp`,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const expected = {
  noise: /^found$/,
  batch: /^found$/,
  broken: /^MCP server "a" sent a response that is not JSON-RPC$/,
  nameless: /No such page$/,
};

for (const [name, text] of Object.entries(expected)) {
  Deno.test(`the answer "${name}" of a server reaches clients of both eras`, async () => {
    await using gateway = await start();

    for (const mode of ["legacy", { pin: "2026-07-28" }] as const) {
      const client = new Client({ name: "test", version: "1.0.0" }, {
        versionNegotiation: { mode },
      });
      await client.connect(
        new StreamableHTTPClientTransport(new URL(gateway.url)),
      );
      const answer = await client.callTool({ name, arguments: {} }).then(
        ({ content: [block] }) => block?.type === "text" ? block.text : "",
        (error: Error) => error.message,
      );
      await client.close();
      assert.match(answer, text);
    }
  });
}
