/** Several MCP servers behind one endpoint: names, failures, sessions. */
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import assert from "node:assert/strict";
import type { Offer } from "../../../cli/dev/mcp/offer.ts";
import { objectSchema, text } from "../../../cli/dev/mcp/offer.ts";
import { startPlayground } from "../../../cli/dev/playground.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { faults } from "../../harness/mcp/broken_servers.ts";
import { callModern, listTools } from "../../harness/mcp/modern_call.ts";
import { startOneEra } from "../../harness/mcp/one_era.ts";

interface Server extends AsyncDisposable {
  readonly url: string;
}

/** A server with tools that return the name of the server and their own. */
function startServer(name: string, tools: readonly string[]): Server {
  const offer: Offer = {
    tools: Object.fromEntries(tools.map((tool) => [tool, {
      description: `${tool} of ${name}`,
      inputSchema: objectSchema(),
      call: () => [
        text(`${name}/${tool}`),
        {
          type: "resource",
          resource: { uri: "doc://a", mimeType: "text/plain", text: name },
        },
      ],
    }])),
    prompts: {
      ask: {
        description: `Asks ${name}`,
        arguments: [],
        render: () => [text(`prompt of ${name}`)],
      },
    },
    resources: [{
      uri: "doc://a",
      name: "a",
      description: "",
      mimeType: "text/plain",
    }],
    resourceTemplates: [],
    readResource: (uri) =>
      uri === "doc://a"
        ? { uri, mimeType: "text/plain", text: `document of ${name}` }
        : undefined,
    completeArgument: () => [name],
  };
  const server = startMcpServer({ offer });
  return {
    url: `${server.origin}/mcp`,
    [Symbol.asyncDispose]: () => server.close(),
  };
}

function startGateway(
  servers: readonly Readonly<Record<string, unknown>>[],
  more: Readonly<Record<string, unknown>> = {},
) {
  return startTestGateway({
    routes: [{ backends: [{ mcp: { servers, ...more } }] }],
  });
}

async function connect(
  origin: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" });
  const url = new URL(`${origin}/mcp`);
  const requestInit = { headers };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return client;
}

Deno.test("clients of both eras see the tools, prompts and resources of all servers, and reach each", async () => {
  await using one = startServer("one", ["find", "open.file"]);
  await using two = startServer("two", ["find"]);
  await using old = startOneEra(two.url, "legacy");
  await using gateway = await startGateway([
    { name: "one", url: one.url },
    { name: "two", url: old.url },
  ]);
  const url = `${gateway.origin}/mcp`;
  const client = await connect(gateway.origin);

  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name);
  const { prompts } = await client.listPrompts();
  const { resources } = await client.listResources();
  assert.match(
    names.join(" "),
    /^one_find one_open_file_[0-9a-f]{8} two_find$/,
  );
  assert.deepEqual(await listTools(url), names);
  assert.deepEqual(prompts.map(({ name }) => name), ["one_ask", "two_ask"]);
  assert.deepEqual(
    resources.map(({ uri }) => uri),
    ["one+doc://a", "two+doc://a"],
  );

  for (
    const [index, expected] of ["one/find", "one/open.file", "two/find"]
      .entries()
  ) {
    const name = names[index] ?? "";
    const old = await client.callTool({ name });
    const { result } = await callModern(url, "tools/call", { name });
    const server = expected.slice(0, 3);
    for (const { content } of [old, result]) {
      assert.equal(content[0].text, expected);
      assert.equal(content[1].resource.uri, `${server}+doc://a`);
    }
  }
  const read = await client.readResource({ uri: "two+doc://a" });
  assert.deepEqual(read.contents, [{
    uri: "two+doc://a",
    mimeType: "text/plain",
    text: "document of two",
  }]);
  const prompt = await client.getPrompt({ name: "two_ask" });
  assert.deepEqual(prompt.messages[0]?.content, text("prompt of two"));
  const completed = await client.complete({
    ref: { type: "ref/prompt", name: "two_ask" },
    argument: { name: "any", value: "" },
  });
  assert.deepEqual(completed.completion.values, ["two"]);
  await client.close();
});

Deno.test("lists are the same bytes as long as nothing changes", async () => {
  await using one = startServer("one", ["b", "a"]);
  await using two = startServer("two", ["c"]);
  await using gateway = await startGateway([
    { name: "two", url: two.url },
    { name: "one", url: one.url },
  ]);

  const url = `${gateway.origin}/mcp`;
  const lists = [];
  for (let round = 0; round < 3; round++) {
    lists.push((await callModern(url, "tools/list")).text);
  }

  assert.deepEqual(await listTools(url), ["two_c", "one_a", "one_b"]);
  assert.equal(new Set(lists).size, 1);
});

Deno.test("names that two servers have are not listed, and cannot be called", async () => {
  await using one = startServer("one", ["find", "first", "Look-Up"]);
  await using two = startServer("two", ["find", "second", "look_up"]);
  await using gateway = await startGateway([
    { name: "one", url: one.url },
    { name: "two", url: two.url },
  ], { prefix: "Never" });
  const url = `${gateway.origin}/mcp`;

  assert.deepEqual(await listTools(url), ["first", "second"]);
  const found = await callModern(url, "tools/call", { name: "second" });
  assert.equal(found.result.content[0].text, "two/second");
  const hidden = await callModern(url, "tools/call", { name: "find" });
  assert.equal(hidden.error.code, -32602);
  assert(
    gateway.log.some((line) =>
      line.includes("Two MCP servers have the same name")
    ),
  );
});

Deno.test("a server shows only the tools of its list, with the descriptions of the configuration", async () => {
  await using one = startServer("one", ["get_a", "get_b", "drop"]);
  await using gateway = await startGateway([{
    name: "one",
    url: one.url,
    prefix: "first",
    tools: ["get_*"],
    descriptions: { get_b: "Gets B, and nothing else" },
  }]);
  const url = `${gateway.origin}/mcp`;

  const { result } = await callModern(url, "tools/list");
  const tools = result.tools.map(
    ({ name, description }: { name: string; description: string }) =>
      `${name}: ${description}`,
  );
  assert.deepEqual(tools, [
    "first_get_a: get_a of one",
    "first_get_b: Gets B, and nothing else",
  ]);
  const hidden = await callModern(url, "tools/call", { name: "first_drop" });
  assert.equal(hidden.error.message, "Unknown tool: first_drop");
});

for (const [fault, start] of Object.entries(faults)) {
  Deno.test(`a server with the fault "${fault}" loses its own tools only`, async () => {
    await using good = startServer("good", ["find"]);
    await using bad = await start();
    await using gateway = await startGateway([
      {
        name: "bad",
        url: bad.url,
        timeouts: { connect: "300ms", list: "300ms" },
      },
      { name: "good", url: good.url },
    ]);
    const url = `${gateway.origin}/mcp`;
    const client = await connect(gateway.origin);

    const { result } = await callModern(url, "tools/list");
    const { tools } = await client.listTools();
    const called = await client.callTool({ name: "good_find" });
    const lost = await client.callTool({ name: "bad_find" });
    await client.close();

    assert.deepEqual(tools.map(({ name }) => name), ["good_find"]);
    assert.equal(result.tools.length, 1);
    assert.equal(result._meta["gateway/unavailableServers"][0].name, "bad");
    assert.equal(JSON.stringify(called.content).includes("good/find"), true);
    assert(
      lost.isError === true || fault.includes("tools") ||
        fault.includes("pages"),
    );
    assert(gateway.log.some((line) => line.includes("MCP server failed")));
  });
}

Deno.test("while servers fail, no call to the others fails or waits for them", async () => {
  await using stack = new AsyncDisposableStack();
  const good = [1, 2, 3].map((number) =>
    stack.use(startServer(`good${number}`, ["find"]))
  );
  const bad = await Promise.all(
    Object.values(faults).map(async (start) => stack.use(await start())),
  );
  await using gateway = await startGateway([
    ...good.map(({ url }, index) => ({ name: `good${index + 1}`, url })),
    ...bad.map(({ url }, index) => ({ name: `bad${index + 1}`, url })),
  ]);
  const url = `${gateway.origin}/mcp`;
  await listTools(url);
  const times: number[] = [];
  const failed: string[] = [];
  const load = async (client: number) => {
    for (let round = 0; round < 25; round++) {
      const name = `good${(client + round) % 3 + 1}`;
      const startedAt = performance.now();
      const { result, text } = await callModern(url, "tools/call", {
        name: `${name}_find`,
      });
      times.push(performance.now() - startedAt);
      const answered = result?.content?.[0]?.text;
      if (answered !== `${name}/find`) failed.push(text);
      if (round % 5 === 0 && (await listTools(url)).length !== 3) {
        failed.push("list");
      }
    }
  };
  await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(load));
  const metrics = await gateway.gateway.dataPlane.call("collectMetrics");

  assert.deepEqual(failed, []);
  // The time limit of a list is 3 s.
  assert(Math.max(...times) < 2500, String(Math.max(...times)));
  assert.match(
    metrics,
    /gateway_mcp_servers\{backend="[^"]+",server="good1",state="up"\} 1/,
  );
  assert.match(metrics, /server="bad1",state="failed"\} 1/);
});

Deno.test("a server that comes back has its tools back", async () => {
  await using good = startServer("good", ["find"]);
  let isUp = false;
  await using flapping = fakeServer(() => isUp);
  await using gateway = await startGateway([
    { name: "flapping", url: flapping.url },
    { name: "good", url: good.url },
  ]);
  const url = `${gateway.origin}/mcp`;
  assert.deepEqual(await listTools(url), ["good_find"]);

  isUp = true;
  const startedAt = performance.now();
  let tools = await listTools(url);
  while (tools.length < 2 && performance.now() - startedAt < 5000) {
    tools = await listTools(url);
  }

  assert.deepEqual(tools, ["flapping_any", "good_find"]);
});

function fakeServer(isUp: () => boolean): Server {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      if (!isUp()) return new Response("down", { status: 503 });
      const { id, method } = await request.json();
      const result = method === "server/discover"
        ? { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }
        : {
          resultType: "complete",
          tools: [
            { name: "any", inputSchema: { type: "object" } },
            { name: "no schema" },
            { name: "bad", inputSchema: { type: "string" } },
          ],
        };
      return Response.json({ jsonrpc: "2.0", id, result });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("rules about servers filter lists, and reject calls", async () => {
  await using one = startServer("one", ["find"]);
  await using two = startServer("two", ["find"]);
  await using gateway = await startTestGateway({
    routes: [{
      backends: [{
        mcp: {
          servers: [{ name: "one", url: one.url }, {
            name: "two",
            url: two.url,
          }],
        },
      }],
      policies: {
        authorization: {
          denial: "JsonRpc",
          policy: {
            matchExpressions: ["!has(mcp.server) || mcp.server == 'two'"],
          },
        },
      },
    }],
  });
  const url = `${gateway.origin}/mcp`;
  const client = await connect(gateway.origin);

  const { tools } = await client.listTools();
  const { resources } = await client.listResources();
  const { prompts } = await client.listPrompts();
  const denied = await callModern(url, "tools/call", { name: "one_find" });
  const called = await callModern(url, "tools/call", { name: "two_find" });
  await assert.rejects(
    () => client.readResource({ uri: "one+doc://a" }),
    /not allowed/,
  );
  const complete = (prompt: string) =>
    client.complete({
      ref: { type: "ref/prompt", name: prompt },
      argument: { name: "a", value: "" },
    });
  const { completion } = await complete("two_ask");
  await assert.rejects(() => complete("one_ask"), /not allowed/);
  const listened = await callModern(url, "subscriptions/listen", {
    notifications: { resourceSubscriptions: ["one+doc://a"] },
  });
  await client.close();

  assert.deepEqual(completion.values, ["two"]);
  assert.equal(listened.error.message, "the request is not allowed");
  assert.deepEqual(tools.map(({ name }) => name), ["two_find"]);
  assert.deepEqual(await listTools(url), ["two_find"]);
  assert.deepEqual(resources.map(({ uri }) => uri), ["two+doc://a"]);
  assert.deepEqual(prompts.map(({ name }) => name), ["two_ask"]);
  assert.equal(denied.error.message, "the request is not allowed");
  assert.equal(called.result.content[0].text, "two/find");
});

Deno.test("servers get the trace of the request", async () => {
  const traces: unknown[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { id, method, params } = await request.json();
      if (method === "tools/call") traces.push(params._meta.traceparent);
      const result = method === "server/discover"
        ? { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }
        : { tools: [], content: [] };
      return Response.json({ jsonrpc: "2.0", id, result });
    },
  );
  await using gateway = await startGateway([{
    name: "one",
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
  }]);
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const url = `${gateway.origin}/mcp`;
  const client = await connect(gateway.origin, { traceparent });

  await callModern(url, "tools/call", { name: "a" }, {
    headers: { traceparent },
  });
  await client.callTool({ name: "a" });
  await client.close();
  await server.shutdown();

  assert.deepEqual(traces, [traceparent, traceparent]);
});

for (
  const message of [
    { error: { code: 1, message: { toString: 1 } } },
    {
      id: 1,
      method: "tools/call",
      params: { name: "find", requestState: { toString: 1 } },
    },
    { id: 1, method: "resources/subscribe", params: { uri: { toString: 1 } } },
  ]
) {
  Deno.test(`an object in place of a text is no error of the gateway: ${JSON.stringify(message)}`, async () => {
    await using one = startServer("one", ["find"]);
    await using gateway = await startGateway([{ name: "one", url: one.url }]);
    const url = `${gateway.origin}/mcp`;
    const client = await connect(gateway.origin);
    const { sessionId = "" } = client.transport ?? {};
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "mcp-session-id": sessionId,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
    const text = await response.text();
    const { method = "ping", params = {} } = message;
    const modern = await callModern(url, method, params);
    await client.close();

    assert.notEqual(response.status, 500);
    assert.doesNotMatch(text, /Internal error/);
    assert.notEqual(modern.status, 500);
  });
}

Deno.test("an error of one call does not take the server from other clients", async () => {
  await using one = startServer("one", ["find", "crash"]);
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { url, method, headers } = request;
      const text = await request.text();
      if (text.includes('"crash"')) return new Response("", { status: 500 });
      const target = new URL(new URL(url).pathname, one.url);
      const own = new Headers(headers);
      own.delete("host");
      const body = text === "" ? {} : { body: text };
      return await fetch(target, { method, headers: own, ...body });
    },
  );
  await using old = startOneEra(
    `http://127.0.0.1:${server.addr.port}/mcp`,
    "legacy",
  );
  await using gateway = await startGateway([
    { name: "new", url: `http://127.0.0.1:${server.addr.port}/mcp` },
    { name: "old", url: old.url },
  ]);
  const url = `${gateway.origin}/mcp`;
  const before = await listTools(url);

  for (const name of ["new", "old"]) {
    const crashed = await callModern(url, "tools/call", {
      name: `${name}_crash`,
    });
    const found = await callModern(url, "tools/call", { name: `${name}_find` });
    assert.equal(crashed.result.isError, true);
    assert.equal(found.result.content[0].text, "one/find");
  }
  assert.deepEqual(await listTools(url), before);
  await server.shutdown();
});

Deno.test("servers get their own credentials, and nothing of the client", async () => {
  const received: Headers[] = [];
  await using server = await startRecorder(received);
  await using gateway = await startGateway([{
    name: "one",
    url: server.url,
    headers: { "x-team": "blue" },
    credentials: { key: "server-key" },
  }]);
  await callModern(`${gateway.origin}/mcp`, "tools/list", {}, {
    headers: { authorization: "Bearer client", cookie: "a=b", "x-own": "1" },
  });

  assert(received.length > 0);
  for (const headers of received) {
    assert.equal(headers.get("authorization"), "Bearer server-key");
    assert.equal(headers.get("x-team"), "blue");
    assert.equal(headers.get("cookie"), null);
    assert.equal(headers.get("x-own"), null);
  }
});

function startRecorder(received: Headers[]): Server {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      received.push(request.headers);
      return new Response("no", { status: 503 });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("the playground has three servers behind one endpoint", async () => {
  await using playground = startPlayground();
  await using gateway = await startGateway(playground.servers);
  const client = await connect(gateway.origin);

  const { tools } = await client.listTools();
  await client.callTool({
    name: "notes_add_note",
    arguments: { note: "milk" },
  });
  const listed = await client.callTool({ name: "notes_list_notes" });
  const { content } = await client.callTool({
    name: "units_to_fahrenheit",
    arguments: { celsius: 100 },
  });
  await client.close();

  const names = tools.map(({ name }) => name);
  assert.deepEqual(names.slice(-3), [
    "notes_add_note",
    "notes_list_notes",
    "units_to_fahrenheit",
  ]);
  assert(names.includes("demo_echo"));
  assert.deepEqual(listed.content, [text("milk")]);
  assert.deepEqual(content, [text("212 °F")]);
});

Deno.test("the access log names the method, the server and the tool of a call", async () => {
  await using one = startServer("one", ["a"]);
  await using two = startServer("two", ["b"]);
  await using gateway = await startGateway([
    { name: "one", url: one.url },
    { name: "two", url: two.url },
  ]);

  const call = { name: "two_b", arguments: {} };
  const { result } = await callModern(
    `${gateway.origin}/mcp`,
    "tools/call",
    call,
  );
  await gateway[Symbol.asyncDispose]();

  assert.deepEqual(result.content[0], text("two/b"));
  assert.match(
    gateway.accessLog.join(""),
    / mcp\.method\.name=tools\/call mcp\.server=two gen_ai\.tool\.name=two_b /,
  );
});
