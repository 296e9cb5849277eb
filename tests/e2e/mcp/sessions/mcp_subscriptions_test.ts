/** Subscriptions to resources of several servers, of which rules hide some, for clients of both eras. */
import { Client } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { EventStreams } from "../../../harness/mcp/event_streams.ts";
import { callModern, fetchModern } from "../../../harness/mcp/modern_call.ts";
import { startSdk1Server } from "../../../interop/eras/sdk1_server.ts";
import {
  startSdk2LegacyServer,
  startSdk2ModernServer,
} from "../../../interop/eras/sdk2_server.ts";

const shown = ["one+note://one", "two+note://one"];
const hidden = "three+note://one";

/** Starts a gateway with servers of both eras, the resources of one of which are hidden. */
async function start() {
  const stack = new AsyncDisposableStack();
  const servers = [
    startSdk1Server(),
    startSdk2ModernServer(),
    startSdk2LegacyServer(),
  ];
  for (const server of servers) stack.use(server);
  const names = ["one", "two", "three"];
  const rule = "!has(mcp.resource) || mcp.server != 'three'";
  const gateway = stack.use(
    await startTestGateway({
      routes: [{
        policies: { authorization: { policy: { matchExpressions: [rule] } } },
        backends: [{
          mcp: {
            servers: servers.map(({ url }, at) => ({ name: names[at], url })),
          },
        }],
      }],
    }),
  );
  return {
    url: `${gateway.origin}/mcp`,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

for (const era of ["legacy", "modern"] as const) {
  Deno.test(`a client (${era}) hears of the resources of several servers that rules let it use`, async () => {
    await using gateway = await start();
    const client = new Client({ name: "test", version: "1.0.0" }, {
      versionNegotiation: {
        mode: era === "legacy" ? "legacy" : { pin: "2026-07-28" },
      },
    });
    const seen = new Updates(client);
    await client.connect(
      new StreamableHTTPClientTransport(new URL(gateway.url)),
    );
    const { resources } = await client.listResources();
    if (era === "legacy") {
      for (const uri of shown) await client.subscribeResource({ uri });
      await assert.rejects(
        client.subscribeResource({ uri: hidden }),
        /not allowed/,
      );
    } else {
      await assert.rejects(
        client.listen({ resourceSubscriptions: [...shown, hidden] }),
        /not allowed/,
      );
      await client.listen({ resourceSubscriptions: shown });
    }

    await seen.until(shown, async () => {
      for (const name of ["one", "two", "three"]) {
        await client.callTool({ name: `${name}_touch` });
      }
    });

    assert.deepEqual(resources.map(({ uri }) => uri), shown);
    assert.deepEqual([...seen.uris].sort(), shown);
    await client.close();
  });
}

for (const era of ["legacy", "modern"] as const) {
  Deno.test(`a subscription is confirmed when a server (${era}) sends what happens from then on`, async () => {
    let isOpen = false;
    await using server = startSlowStream(era, () => isOpen = true);
    await using gateway = await startTestGateway({
      routes: [{
        backends: [{ mcp: { servers: [{ name: "a", url: server.url }] } }],
      }],
    });

    const response = await fetchModern(
      `${gateway.origin}/mcp`,
      "subscriptions/listen",
      { notifications: { promptsListChanged: true } },
    );
    const reader = response.body?.pipeThrough(new TextDecoderStream())
      .getReader();
    const first = await reader?.read();

    assert.match(first?.value ?? "", /subscriptions\/acknowledged/);
    assert.equal(isOpen, true);
    await reader?.cancel();
  });
}

/** Starts a server that takes its time to open a stream for notifications. */
function startSlowStream(era: "legacy" | "modern", onOpen: () => void) {
  const streams = new EventStreams();
  const open = async (id?: unknown) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    onOpen();
    return streams.open(id);
  };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      if (request.method === "GET") return await open();
      const { id, method } = await request.json();
      if (id === undefined) return new Response(null, { status: 202 });
      if (method === "subscriptions/listen") return await open(id);
      const isKnown = method === "initialize" ||
        method === "server/discover" && era === "modern";
      return Response.json({
        jsonrpc: "2.0",
        id,
        ...isKnown
          ? {
            result: {
              supportedVersions: ["2026-07-28"],
              protocolVersion: "2025-11-25",
              capabilities: { prompts: { listChanged: true } },
            },
          }
          : { error: { code: -32601, message: "Method not found" } },
      });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    async [Symbol.asyncDispose]() {
      streams.close();
      await server.shutdown();
    },
  };
}

Deno.test("no news of a hidden resource, also of a server that sends it unasked", async () => {
  const updated = (uri: string) => ({
    jsonrpc: "2.0",
    method: "notifications/resources/updated",
    params: { uri },
  });
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      if (request.method === "GET") {
        const events = ["doc://secret", "doc://open"].map((uri, id) =>
          `id: ${id}\ndata: ${JSON.stringify(updated(uri))}\n\n`
        );
        return new Response(events.join(""), {
          headers: { "content-type": "text/event-stream" },
        });
      }
      const { id, method } = await request.json();
      if (id === undefined) return new Response(null, { status: 202 });
      const result = method === "initialize" && {
        protocolVersion: "2025-11-25",
        capabilities: { resources: { subscribe: true } },
        serverInfo: { name: "old", version: "1.0.0" },
      };
      return Response.json(
        result
          ? { jsonrpc: "2.0", id, result }
          : { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } },
        { headers: { "mcp-session-id": "s1" } },
      );
    },
  );
  const rule = "!has(mcp.resource) || !mcp.resource.name.contains('secret')";
  await using gateway = await startTestGateway({
    routes: [{
      policies: { authorization: { policy: { matchExpressions: [rule] } } },
      backends: [{
        mcp: {
          servers: [{
            name: "one",
            url: `http://127.0.0.1:${server.addr.port}/mcp`,
          }],
        },
      }],
    }],
  });
  const url = `${gateway.origin}/mcp`;
  const client = new Client({ name: "test", version: "1.0.0" }, {
    versionNegotiation: { mode: "legacy" },
  });
  const seen = new Updates(client);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  await seen.until(["doc://open"], () => client.ping());
  await client.close();

  assert.deepEqual([...seen.uris], ["doc://open"]);
  const denied = await callModern(url, "subscriptions/listen", {
    notifications: { resourceSubscriptions: ["doc://open", 7] },
  });
  assert.equal(denied.status, 403);
});

/** Collects updates of resources. */
class Updates {
  readonly uris = new Set<string>();

  constructor(client: Client) {
    client.setNotificationHandler(
      "notifications/resources/updated",
      ({ params }) => void this.uris.add(params.uri),
    );
  }

  /** Repeats an action until all these resources were updated: streams from servers open after the subscription. */
  async until(uris: readonly string[], action: () => Promise<unknown>) {
    while (!uris.every((uri) => this.uris.has(uri))) await action();
  }
}
