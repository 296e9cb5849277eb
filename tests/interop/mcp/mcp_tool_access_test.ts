import assert from "node:assert/strict";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
// @ts-types="@modelcontextprotocol/sdk/client/sse"
import { SSEClientTransport as SseV1 } from "@modelcontextprotocol/sdk/client/sse.js";
import {
  Client as ClientV2,
  SSEClientTransport as SseV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { startPagedServer } from "../../harness/mcp/paged_server.ts";
import {
  eventsOf,
  startTracedGateway,
} from "../../harness/gateway/traced_gateway.ts";

const tools = ["add", "drop", "echo", "erase", "wipe"];

const rules = [
  "!has(mcp.tool) || mcp.tool.name in apiKey.tools",
  "!has(mcp.prompt) || mcp.prompt.name != 'order' || apiKey.team == 'red'",
  "!has(mcp.resource) || mcp.resource.name.startsWith('file:///public/') || apiKey.team == 'red'",
];

/** Starts a gateway with these rules before a server of the official SDK. */
async function start(denial = "Http403") {
  const server = await startPagedServer(tools);
  const gateway = await startTracedGateway({
    routes: [{
      policies: {
        apiKeyAuthentication: {
          keys: [
            {
              key: "blue",
              metadata: { team: "blue", tools: ["add", "echo", "wipe"] },
            },
            { key: "red", metadata: { team: "red", tools } },
          ],
        },
        authorization: { denial, policy: { matchExpressions: rules } },
      },
      backends: [{ host: `127.0.0.1:${server.port}` }],
    }],
  });
  return {
    server,
    gateway,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The parts of a client that both generations have. */
interface Lister extends AsyncDisposable {
  listTools(params?: { cursor?: string }): Promise<{
    readonly tools: readonly { readonly name: string }[];
    readonly nextCursor?: string | undefined;
    readonly _meta?: unknown;
  }>;
  listPrompts(): Promise<
    { readonly prompts: readonly { readonly name: string }[] }
  >;
  listResources(): Promise<
    { readonly resources: readonly { readonly uri: string }[] }
  >;
  listResourceTemplates(): Promise<
    { readonly resourceTemplates: readonly { readonly uriTemplate: string }[] }
  >;
  callTool(params: { name: string }): Promise<unknown>;
}

const clients: readonly {
  readonly name: string;
  connect(origin: string, key: string): Promise<Lister>;
}[] = [
  ...["/mcp", "/json"].flatMap((path) => [
    {
      name: `SDK v1 at ${path}`,
      async connect(origin: string, key: string) {
        const client = new ClientV1({ name: "v1", version: "1.0.0" });
        await client.connect(
          new TransportV1(new URL(path, origin), withKey(key)),
        );
        return closing(client);
      },
    },
    {
      name: `client v2 at ${path}`,
      async connect(origin: string, key: string) {
        const client = new ClientV2({ name: "v2", version: "1.0.0" });
        await client.connect(
          new TransportV2(new URL(path, origin), withKey(key)),
        );
        return closing(client);
      },
    },
  ]),
  {
    name: "SDK v1 with HTTP+SSE",
    async connect(origin, key) {
      const client = new ClientV1({ name: "v1", version: "1.0.0" });
      await client.connect(new SseV1(new URL("/sse", origin), withKey(key)));
      return closing(client);
    },
  },
  {
    name: "client v2 with HTTP+SSE",
    async connect(origin, key) {
      const client = new ClientV2({ name: "v2", version: "1.0.0" });
      await client.connect(new SseV2(new URL("/sse", origin), withKey(key)));
      return closing(client);
    },
  },
];

function withKey(key: string) {
  return { requestInit: { headers: { authorization: `Bearer ${key}` } } };
}

function closing<C extends { close(): Promise<void> }>(
  client: C,
): C & AsyncDisposable {
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

async function allTools(client: Lister): Promise<readonly string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    assert.deepEqual(page._meta, { "example.com/page": Number(cursor ?? 0) });
    names.push(...page.tools.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return names;
}

for (const { name, connect } of clients) {
  Deno.test(`${name}: a client sees the tools, prompts and resources that it may use`, async () => {
    await using world = await start();
    await using blue = await connect(world.gateway.origin, "blue");
    await using red = await connect(world.gateway.origin, "red");

    assert.deepEqual(await allTools(blue), ["add", "echo", "wipe"]);
    assert.deepEqual(await allTools(red), tools);
    const { prompts } = await blue.listPrompts();
    assert.deepEqual(prompts.map(({ name }) => name), ["ask"]);
    const { resources } = await blue.listResources();
    assert.deepEqual(resources.map(({ uri }) => uri), ["file:///public/a"]);
    assert.equal((await red.listPrompts()).prompts.length, 2);
    assert.equal((await red.listResources()).resources.length, 2);
    const { resourceTemplates } = await blue.listResourceTemplates();
    assert.equal(resourceTemplates.length, 1);

    for (const tool of tools) {
      await blue.callTool({ name: tool }).catch(() => {});
    }
    assert.deepEqual(world.server.called, ["add", "echo", "wipe"]);
    await assert.rejects(
      () => blue.callTool({ name: "drop" }),
      /403|forbidden/,
    );
  });
}

for (const { name, connect } of clients) {
  Deno.test(`${name}: a denied call is an error of the call, and the client goes on`, async () => {
    await using world = await start("JsonRpc");
    await using blue = await connect(world.gateway.origin, "blue");

    await assert.rejects(
      () => blue.callTool({ name: "drop" }),
      // HTTP+SSE has no response to a message but its status.
      name.endsWith("HTTP+SSE") ? /403/ : /not allowed/,
    );
    await blue.callTool({ name: "echo" });
    assert.deepEqual(world.server.called, ["echo"]);
    const [line] = world.gateway.accessLog.filter((line) =>
      line.includes("reason=authorization")
    );
    assert.match(
      line ?? "",
      name.endsWith("HTTP+SSE") ? /http.status=403/ : /http.status=200/,
    );
  });
}

for (const path of ["/mcp", "/json"]) {
  Deno.test(`the trace of a list at ${path} says how many tools are hidden, and by which rule`, async () => {
    await using world = await start();
    const trace = await world.gateway.watch();
    const response = await fetch(`${world.gateway.origin}${path}`, {
      method: "POST",
      headers: {
        authorization: "Bearer blue",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
    await response.text();

    const events = await eventsOf(trace);
    const reports = events.flatMap(({ message }) =>
      message.type === "policyEvent" && message.kind === "authorization"
        ? [message.details]
        : []
    );
    assert.deepEqual(reports, [{
      list: "tools",
      listed: 2,
      hidden: 1,
      rules: [{ rule: rules[0], items: 1 }],
    }]);
    assert.equal(
      response.headers.get("cache-control")?.split(", ")[0],
      "private",
    );
  });
}
