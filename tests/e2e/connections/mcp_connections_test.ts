/** MCP clients send their users to the page of a connection, each in the way of its revision. */
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import assert from "node:assert/strict";
import { objectSchema, text } from "../../../cli/dev/mcp/offer.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import {
  type ConnectingSite,
  startConnectingSite,
} from "../../harness/gateway/connecting_gateway.ts";
import { callModern } from "../../harness/mcp/modern_call.ts";
import { startUserService } from "../../harness/login/user_service.ts";

/** Starts an MCP server behind a login, and a gateway. */
async function startStage() {
  const stack = new AsyncDisposableStack();
  const server = startMcpServer({
    offer: {
      tools: {
        greet: {
          description: "",
          inputSchema: objectSchema(),
          call: () => [text("hello")],
        },
      },
      prompts: {},
      resources: [],
      resourceTemplates: [],
      readResource: () => undefined,
      completeArgument: () => [],
    },
  });
  stack.defer(() => server.close());
  const service = stack.use(await startUserService());
  service.handle = async (request) => {
    const headers = new Headers(request.headers);
    headers.delete("host");
    const body = request.body && await request.text();
    return await fetch(`${server.origin}/mcp`, {
      method: request.method,
      headers,
      ...(body !== null && { body }),
      signal: request.signal,
    }).catch(() => new Response("the client has gone", { status: 499 }));
  };
  const site = stack.use(await startConnectingSite());
  stack.use(
    await site.start({
      backend: {
        mcp: {
          servers: [
            {
              name: "drive",
              url: service.resource,
              credentials: { oauth: {} },
            },
          ],
        },
      },
    }),
  );
  return { site, service, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function connectClient(
  site: ConnectingSite,
  capabilities: Record<string, unknown>,
) {
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities },
  );
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${site.origin}/mcp`), {
      requestInit: {
        headers: { authorization: await site.authorization("anna") },
      },
    }),
  );
  return client;
}

async function namesOf(client: Client): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}

Deno.test({
  name: "a client of 2025-11-25 opens the page, and finds the tools after it",
  // The connections of the last requests end by themselves.
  sanitizeResources: false,
  async fn() {
    await using stage = await startStage();
    const { site } = stage;
    const client = await connectClient(site, { elicitation: { url: {} } });
    assert.deepEqual(await namesOf(client), ["connect_account"]);

    const denied = await client.callTool({ name: "connect_account" }).then(
      () => undefined,
      (error) => error,
    );

    assert.equal(denied?.code, -32042);
    const [elicitation] = denied.data.elicitations;
    assert.equal(elicitation.mode, "url");
    await site.user("anna").connect(elicitation.url);
    const result = await client.callTool({ name: "connect_account" });
    assert.match(JSON.stringify(result), /drive is connected/);
    assert.deepEqual(await namesOf(client), ["greet"]);
    const greeting = await client.callTool({ name: "greet" });
    assert.match(JSON.stringify(greeting), /hello/);
    await client.close();
  },
});

Deno.test({
  name: "a client that cannot open pages gets the link as text",
  sanitizeResources: false,
  async fn() {
    await using stage = await startStage();
    const { site } = stage;
    const client = await connectClient(site, {});

    const denied = await client.callTool({ name: "connect_account" });

    const shown = JSON.stringify(denied);
    assert.equal(denied.isError, true);
    const link = /http:[^" ]*\/connections\/connect\?request=[\w-]+/.exec(
      shown,
    );
    await site.user("anna").connect(link?.[0] ?? "");
    const greeting = await client.callTool({ name: "greet" });
    assert.match(JSON.stringify(greeting), /hello/);
    await client.close();
  },
});

Deno.test({
  name: "a client of 2026-07-28 gets input_required, and retries",
  sanitizeResources: false,
  async fn() {
    await using stage = await startStage();
    const { site } = stage;
    const headers = { authorization: await site.authorization("anna") };
    const call = () =>
      callModern(`${site.origin}/mcp`, "tools/call", {
        name: "greet",
        arguments: {},
      }, {
        headers,
        capabilities: { elicitation: { url: {} } },
      });

    const first = await call();

    assert.match(JSON.stringify(first), /"resultType":"input_required"/);
    const link = /http:[^" ]*\/connections\/connect\?request=[\w-]+/
      .exec(JSON.stringify(first));
    await site.user("anna").connect(link?.[0] ?? "");
    assert.match(JSON.stringify(await call()), /hello/);
  },
});
