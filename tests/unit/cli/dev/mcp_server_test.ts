import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import {
  type McpServerOptions,
  startMcpServer,
} from "../../../../cli/dev/mcp_server.ts";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { conformanceOffer } from "../../../harness/mcp/conformance_offer.ts";

const accept = "application/json, text/event-stream";

function start(options: McpServerOptions = {}) {
  const server = startMcpServer(options);
  return {
    url: `${server.origin}/mcp`,
    [Symbol.asyncDispose]: () => server.close(),
  };
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

async function callTool(
  client: Client,
  name: string,
  input: Record<string, unknown> = {},
) {
  const { content, isError = false } = await client.callTool({
    name,
    arguments: input,
  });
  return { text: (content as { text: string }[])[0]?.text, isError };
}

async function initialize(
  url: string,
): Promise<{ status: number; session: string }> {
  const { status, headers } = await send(url, {
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1.0.0" },
    },
  });
  return { status, session: String(headers["mcp-session-id"]) };
}

async function send(
  url: string,
  message: object,
  headers: Record<string, string> = {},
) {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  const type = { accept, "content-type": "application/json" };
  const response = await fetchRaw(url, {
    method: "POST",
    headers: { ...type, ...headers },
    body,
  });
  return { ...response, text: new TextDecoder().decode(response.bytes) };
}

async function ping(url: string, session: string): Promise<number> {
  return (await send(url, { id: 2, method: "ping" }, {
    "mcp-session-id": session,
  })).status;
}

Deno.test("MCP server offers demo tools", async () => {
  const clock = new FakeClock();
  await using server = start({ clock });
  const client = await connect(server.url);

  assert.deepEqual(await callTool(client, "echo", { message: "hi" }), {
    text: "hi",
    isError: false,
  });
  assert.deepEqual(await callTool(client, "add", { a: 2, b: 3 }), {
    text: "5",
    isError: false,
  });
  assert.equal(
    (await callTool(client, "current_time")).text,
    "2026-01-01T00:00:00.000Z",
  );
  await client.close();
});

Deno.test("MCP server offers tools that talk back to the client", async () => {
  await using server = start();
  const client = new Client({ name: "test", version: "1.0.0" }, {
    capabilities: { elicitation: {}, sampling: {} },
  });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
    action: "accept",
    content: { answer: `${params.message} Yes.` },
  }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: "test",
    role: "assistant",
    content: { type: "text", text: "Paris" },
  }));
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.url)),
  );

  const asked = await callTool(client, "ask_user", { question: "Sure?" });
  const sampled = await callTool(client, "ask_model", { prompt: "Capital?" });
  const progress: number[] = [];
  await client.callTool(
    { name: "count", arguments: { to: 3 } },
    undefined,
    { onprogress: (report) => progress.push(report.progress) },
  );

  assert.equal(asked.text, 'accept: {"answer":"Sure? Yes."}');
  assert.equal(sampled.text, "Paris");
  assert.deepEqual(progress, [1, 2, 3]);
  await client.close();
});

Deno.test("MCP server talks back to a client of MCP 2026-07-28, without a session", async () => {
  await using server = start();
  const client = new ClientV2({ name: "test", version: "1.0.0" }, {
    capabilities: { elicitation: {} },
    versionNegotiation: { mode: "auto" },
  });
  client.setRequestHandler("elicitation/create", ({ params }) => ({
    action: "accept",
    content: { answer: `${params.message} Yes.` },
  }));
  const transport = new TransportV2(new URL(server.url));
  await client.connect(transport);

  const asked = await client.callTool({
    name: "ask_user",
    arguments: { question: "Sure?" },
  });

  assert.equal(client.getNegotiatedProtocolVersion(), "2026-07-28");
  assert.equal(transport.sessionId, undefined);
  assert.deepEqual(asked.content, [
    { type: "text", text: 'accept: {"answer":"Sure? Yes."}' },
  ]);
  await client.close();
});

Deno.test("MCP server offers a prompt and a resource", async () => {
  await using server = start();
  const client = await connect(server.url);

  const { messages } = await client.getPrompt({
    name: "summarize",
    arguments: { text: "Long." },
  });
  const { contents } = await client.readResource({ uri: "playground://guide" });

  assert.deepEqual(messages.map(({ content }) => content), [
    { type: "text", text: "Summarize in one sentence: Long." },
  ]);
  assert.match(JSON.stringify(contents), /echo/);
  await assert.rejects(client.getPrompt({ name: "toString" }), {
    message: /Unknown prompt "toString"/,
  });
  await assert.rejects(client.readResource({ uri: "playground://other" }), {
    message: /Resource not found/,
  });
  await client.close();
});

Deno.test("MCP server reports to the model what is wrong with a tool's arguments", async () => {
  await using server = start();
  const client = await connect(server.url);

  assert.deepEqual(await callTool(client, "add", { a: "two", b: 3 }), {
    text:
      "Input validation error: Invalid arguments for tool add: data/a must be number",
    isError: true,
  });
  await client.close();
});

Deno.test("MCP server notifies a subscriber on its standalone stream that a resource changed", async () => {
  await using server = start();
  const client = await connect(server.url);
  const uri = "playground://guide";
  const updated = Promise.withResolvers<string>();
  client.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params }) => updated.resolve(params.uri),
  );

  await client.subscribeResource({ uri });
  await callTool(client, "touch_resource", { uri });

  assert.equal(await updated.promise, uri);
  await client.close();
});

Deno.test("MCP server sends the rest of an interrupted response to a client that resumes with Last-Event-ID", async () => {
  await using server = start({ offer: conformanceOffer });
  const { session } = await initialize(server.url);
  const headers = {
    "mcp-session-id": session,
    "mcp-protocol-version": "2025-11-25",
  };

  const broken = await send(server.url, {
    id: 7,
    method: "tools/call",
    params: { name: "test_reconnection" },
  }, headers);
  const id = /^id: (\d+)\nretry: 500\ndata: \n\n$/.exec(broken.text)?.[1] ?? "";
  const resumed = await fetch(server.url, {
    headers: { ...headers, accept, "last-event-id": id },
  });
  assert(resumed.body);
  const reader = resumed.body.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  await reader.cancel();

  assert.match(
    value ?? "",
    /"Reconnection test completed successfully".*"id":7/,
  );
});

Deno.test("MCP server rejects foreign hosts, unknown paths and unknown sessions", async () => {
  await using server = start();

  const foreign = await send(server.url, { id: 1, method: "ping" }, {
    host: "evil.example",
  });
  const lost = await fetchRaw(server.url.replace("/mcp", "/other"));

  assert.equal(foreign.status, 403);
  assert.equal(lost.status, 404);
  assert.equal(await ping(server.url, "unknown"), 404);
});

Deno.test("MCP server needs a session for anything but initialize", async () => {
  await using server = start();

  const { status, text } = await send(server.url, { id: 1, method: "ping" });

  assert.equal(status, 400);
  assert.match(text, /not initialized/);
});

Deno.test("MCP server forgets a session that the client deletes", async () => {
  await using server = start();
  const { session } = await initialize(server.url);

  const { status } = await fetchRaw(server.url, {
    method: "DELETE",
    headers: { "mcp-session-id": session },
  });

  assert.equal(status, 200);
  assert.equal(await ping(server.url, session), 404);
});

Deno.test("MCP server closes sessions that are idle for too long", async () => {
  const clock = new FakeClock();
  await using server = start({ clock, idleTimeoutMs: 1000 });
  const { session: idle } = await initialize(server.url);

  clock.advance(600);
  const { session: young } = await initialize(server.url);
  clock.advance(600);
  await initialize(server.url);

  assert.equal(await ping(server.url, idle), 404);
  assert.equal(await ping(server.url, young), 200);
});

Deno.test("MCP server closes the session that was idle for longest when there are too many", async () => {
  await using server = start({ maxSessions: 2 });
  const { session: first } = await initialize(server.url);
  const { session: second } = await initialize(server.url);

  assert.equal(await ping(server.url, first), 200);
  const { session: third } = await initialize(server.url);

  assert.equal(await ping(server.url, second), 404);
  assert.equal(await ping(server.url, first), 200);
  assert.equal(await ping(server.url, third), 200);
});

Deno.test("MCP server rejects new sessions while all sessions are busy", async () => {
  await using server = start({ maxSessions: 1 });
  const { session } = await initialize(server.url);
  const headers = { "mcp-session-id": session, accept: "text/event-stream" };
  const busy = await fetch(server.url, { headers });

  assert.equal((await initialize(server.url)).status, 503);
  await busy.body?.cancel();
});
