/** Sessions that the gateway opens at servers of the era with sessions. */
import { Client } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { startMcpServer } from "../../../../cli/dev/mcp_server.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { callModern, listTools } from "../../../harness/mcp/modern_call.ts";
import { startOneEra } from "../../../harness/mcp/one_era.ts";

/** Starts a gateway with one server, which counts the sessions that begin. */
async function start(name: string) {
  await using started = new AsyncDisposableStack();
  const server = started.adopt(startMcpServer(), (it) => it.close());
  const era = started.use(startOneEra(`${server.origin}/mcp`, "legacy"));
  let sessions = 0;
  const counting = started.adopt(
    Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      async (request) => {
        const body = await request.text();
        if (body.includes('"initialize"')) sessions++;
        const headers = new Headers(request.headers);
        headers.delete("host");
        const { method, signal } = request;
        const isEmpty = body === "";
        return await fetch(era.url, {
          method,
          headers,
          signal,
          ...(!isEmpty && { body }),
        }).catch(() => new Response("the client has gone", { status: 499 }));
      },
    ),
    (it) => it.shutdown(),
  );
  const url = `http://127.0.0.1:${counting.addr.port}/mcp`;
  const gateway = started.use(
    await startTestGateway({
      routes: [{ backends: [{ mcp: { servers: [{ name, url }] } }] }],
    }),
  );
  const owned = started.move();
  return {
    url: `${gateway.origin}/mcp`,
    sessions: () => sessions,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

Deno.test("requests that need a session at the same time open one", async () => {
  await using gateway = await start("demo");

  const lists = await Promise.all(
    Array.from({ length: 8 }, () => listTools(gateway.url)),
  );

  assert.equal(lists.every(({ length }) => length > 0), true);
  assert.equal(gateway.sessions(), 1);
  // The session of a call is its own.
  const call = { name: "add", arguments: { a: 1, b: 2 } };
  const { result } = await callModern(gateway.url, "tools/call", call);
  assert.equal(result.isError, undefined);
  assert.equal(gateway.sessions(), 2);
});

Deno.test("a server may be named as a member that all objects have", async () => {
  await using gateway = await start("constructor");
  const client = new Client({ name: "test", version: "1.0.0" }, {
    versionNegotiation: { mode: "legacy" },
  });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(gateway.url)),
  );

  const { tools } = await client.listTools();

  assert.equal(tools.length > 0, true);
  assert.equal(gateway.sessions(), 1);
  await client.close();
});
