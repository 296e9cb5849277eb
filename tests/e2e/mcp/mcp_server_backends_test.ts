/** Backends of the configuration that are servers of an endpoint. */
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { callModern } from "../../harness/mcp/modern_call.ts";
import { startSdk1Server } from "../../interop/eras/sdk1_server.ts";

Deno.test("sessions stay at the endpoints of a backend that have begun them", async () => {
  await using one = startSdk1Server();
  await using two = startSdk1Server();
  await using three = startSdk1Server();
  const endpoints = [one, two, three].map(({ url }) => ({
    host: "127.0.0.1",
    port: Number(new URL(url).port),
  }));
  await using gateway = await startTestGateway({
    routes: [{
      backends: [{
        mcp: { servers: [{ name: "notes", backend: { name: "fleet" } }] },
      }],
    }],
    backends: [{
      name: "fleet",
      loadBalancing: { policy: "RoundRobin" },
      endpoints,
    }],
  });
  const url = `${gateway.origin}/mcp`;
  const clients = await Promise.all([1, 2, 3, 4].map(async () => {
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return client;
  }));
  for (let round = 0; round < 5; round++) {
    for (const [index, client] of clients.entries()) {
      const { content } = await client.callTool({
        name: "echo",
        arguments: { text: `${index} ${round}` },
      });
      assert.deepEqual(content, [{ type: "text", text: `${index} ${round}` }]);
    }
  }
  for (const client of clients) await client.close();
});

Deno.test("a server gets the credentials of its backend, or its own, and its own path", async () => {
  const seen = new Set<string>();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ({ url, headers }) => {
      seen.add(`${new URL(url).pathname} ${headers.get("authorization")}`);
      return new Response(null, { status: 401 });
    },
  );
  await using gateway = await startTestGateway({
    routes: [{
      backends: [{
        mcp: {
          servers: [
            { name: "shared", backend: { name: "tools", path: "/shared" } },
            {
              name: "own",
              backend: { name: "tools" },
              credentials: { key: "second" },
            },
          ],
        },
      }],
    }],
    backends: [{
      name: "tools",
      static: { host: "127.0.0.1", port: server.addr.port },
      credentials: { key: "first" },
    }],
  });

  await callModern(`${gateway.origin}/mcp`, "tools/list");

  assert.deepEqual([...seen].toSorted(), [
    "/mcp Bearer second",
    "/shared Bearer first",
  ]);
});
