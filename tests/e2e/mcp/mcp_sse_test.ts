/** Servers of 2024-11-05 behind the endpoint. */
import { Client } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/sse"
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import assert from "node:assert/strict";
import { text } from "../../../cli/dev/mcp/offer.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { callModern, listTools } from "../../harness/mcp/modern_call.ts";
import { startSseServer } from "../../harness/mcp/sse_server.ts";

function startGateway(sse: string) {
  return startTestGateway({
    routes: [{ backends: [{ mcp: { servers: [{ name: "old", sse }] } }] }],
  });
}

async function connect(origin: string, era: "legacy" | "modern") {
  const client = new Client({ name: "test", version: "1.0.0" }, {
    capabilities: { elicitation: {} },
    versionNegotiation: {
      mode: era === "legacy" ? "legacy" : { pin: "2026-07-28" },
    },
  });
  client.setRequestHandler("elicitation/create", () => ({
    action: "accept" as const,
    content: { name: "Ada" },
  }));
  const url = new URL(`${origin}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url));
  return client;
}

for (const era of ["legacy", "modern"] as const) {
  Deno.test(`a client of the ${era} era calls a server of 2024-11-05, and is asked by it`, async () => {
    await using server = await startSseServer();
    await using gateway = await startGateway(server.url);
    const client = await connect(gateway.origin, era);
    const progress: number[] = [];

    const { tools } = await client.listTools();
    const { content } = await client.callTool({
      name: "greet",
      arguments: { greeting: "Hello" },
    }, { onprogress: ({ progress: done }) => progress.push(done) });

    assert.deepEqual(tools.map(({ name }) => name), ["count", "greet"]);
    assert.deepEqual(content, [text("Hello Ada")]);
    // The SDK may report a step again when it sends the input.
    assert.deepEqual([...new Set(progress)], [1]);
    await client.close();
  });
}

Deno.test("each session of a client has its own at the server, and so has each call without one", async () => {
  await using server = await startSseServer();
  await using gateway = await startGateway(server.url);
  const one = await connect(gateway.origin, "legacy");
  const two = await connect(gateway.origin, "legacy");
  const count = { name: "count" };

  await one.callTool(count);
  const again = await one.callTool(count);
  const other = await two.callTool(count);
  const url = `${gateway.origin}/mcp`;
  const modern = [
    await callModern(url, "tools/call", { ...count, arguments: {} }),
    await callModern(url, "tools/call", { ...count, arguments: {} }),
  ];

  assert.deepEqual(again.content, [text("2")]);
  assert.deepEqual(other.content, [text("1")]);
  for (const { result } of modern) {
    assert.deepEqual(result.content, [text("1")]);
  }
  await one.close();
  await two.close();
});

Deno.test("a session whose stream breaks is begun anew", async () => {
  await using server = await startSseServer();
  await using gateway = await startGateway(server.url);
  const client = await connect(gateway.origin, "legacy");
  await client.callTool({ name: "count" });
  const before = server.sessions;

  server.breakStreams();
  const { content } = await client.callTool({ name: "count" });

  assert.deepEqual(content, [text("1")]);
  assert.equal(server.sessions > before, true);
  await client.close();
});

Deno.test("messages do not go to another origin than that of the stream", async () => {
  let reached = false;
  await using other = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => {
      reached = true;
      return new Response();
    },
  );
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () =>
      new Response(
        `event: endpoint\ndata: http://127.0.0.1:${other.addr.port}/x\n\n`,
        { headers: { "content-type": "text/event-stream" } },
      ),
  );
  const { port } = server.addr;
  await using gateway = await startGateway(`http://127.0.0.1:${port}/sse`);

  assert.deepEqual(await listTools(`${gateway.origin}/mcp`), []);

  assert.equal(reached, false);
  assert.equal(
    gateway.log.some((line) => line.includes("endpoint of another origin")),
    true,
  );
});

Deno.test("a relative endpoint is one beside the stream", async () => {
  const encoder = new TextEncoder();
  const posted = Promise.withResolvers<string>();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ({ method, url }) => {
      if (method === "POST") {
        posted.resolve(new URL(url).pathname);
        return new Response(null, { status: 500 });
      }
      const endless = new ReadableStream({
        start(stream) {
          stream.enqueue(encoder.encode("event: endpoint\ndata: messages\n\n"));
        },
      });
      return new Response(endless, {
        headers: { "content-type": "text/event-stream" },
      });
    },
  );
  const { port } = server.addr;
  await using gateway = await startGateway(
    `http://127.0.0.1:${port}/app/sse`,
  );

  await listTools(`${gateway.origin}/mcp`);

  assert.equal(await posted.promise, "/app/messages");
});

Deno.test("a client of HTTP+SSE is rejected, and told which transport there is", async () => {
  await using server = await startSseServer();
  await using gateway = await startGateway(server.url);
  const url = new URL(`${gateway.origin}/mcp`);
  const client = new OldClient({ name: "test", version: "1.0.0" });

  const transport = new SSEClientTransport(url, {
    eventSourceInit: {
      // The SDK leaves the body of an error unread.
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        await response.body?.cancel();
        return response;
      },
    },
  });
  await assert.rejects(client.connect(transport), /405/);
  const response = await fetch(url, {
    headers: { accept: "text/event-stream" },
  });

  assert.equal(response.status, 405);
  assert.equal(response.headers.get("allow"), "POST");
  assert.match(await response.text(), /Streamable HTTP, not HTTP\+SSE/);
});
