/** News about tasks of a server that knows the gateway only, and tells every listener of all tasks. */
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CreateTaskResultSchema } from "@modelcontextprotocol/sdk/types.js";
import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";

const now = "2026-01-01T00:00:00Z";
const task = {
  taskId: "task-of-one",
  status: "working",
  ttl: null,
  createdAt: now,
  lastUpdatedAt: now,
};
const capabilities = {
  tools: {},
  logging: {},
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
};

/** Starts a server without sessions; asked for the task, it tells all listeners of it, and then that this is over. */
function startTellingServer() {
  const listeners = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const encoder = new TextEncoder();
  const tell = (
    to: Iterable<ReadableStreamDefaultController<Uint8Array>>,
    method: string,
    params: object,
  ) => {
    const text = JSON.stringify({ jsonrpc: "2.0", method, params });
    for (const each of to) each.enqueue(encoder.encode(`data: ${text}\n\n`));
  };
  const say = (data: string) => ({ level: "info", data });
  const resultOf = (method: string) => {
    switch (method) {
      case "initialize":
        return {
          protocolVersion: "2025-11-25",
          capabilities,
          serverInfo: { name: "telling", version: "1.0.0" },
        };
      case "tools/list":
        return { tools: [{ name: "work", inputSchema: { type: "object" } }] };
      case "tools/call":
        return { task };
      case "tasks/get":
        tell(listeners, "notifications/tasks/status", task);
        tell(listeners, "notifications/message", say("over"));
        return task;
      default:
        return {};
    }
  };
  const server = Deno.serve({ port: 0, onListen() {} }, async (request) => {
    if (request.method === "GET") {
      let own: ReadableStreamDefaultController<Uint8Array> | undefined;
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          own = controller;
          listeners.add(controller);
          tell([controller], "notifications/message", say("hello"));
        },
        cancel: () => {
          if (own !== undefined) listeners.delete(own);
        },
      });
      return new Response(body, {
        headers: { "content-type": "text/event-stream" },
      });
    }
    const { id, method } = await request.json();
    return id === undefined
      ? new Response(null, { status: 202 })
      : Response.json({ jsonrpc: "2.0", id, result: resultOf(method) });
  });
  return {
    url: `http://localhost:${server.addr.port}`,
    async [Symbol.asyncDispose]() {
      for (const each of listeners) each.close();
      await server.shutdown();
    },
  };
}

/** Connects a user, and records the notifications. */
async function connect(url: string, user: string) {
  const client = new Client({ name: "test", version: "1.0.0" });
  const tasks: string[] = [];
  const said = new Map<unknown, PromiseWithResolvers<void>>();
  const saidOf = (data: unknown) =>
    said.getOrInsertComputed(data, () => Promise.withResolvers<void>());
  client.fallbackNotificationHandler = ({ method, params }) => {
    if (method === "notifications/message") saidOf(params?.["data"]).resolve();
    else tasks.push(String(params?.["taskId"]));
    return Promise.resolve();
  };
  const headers = { authorization: `Bearer ${user}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
    }),
  );
  await saidOf("hello").promise;
  return {
    client,
    tasks,
    over: () => saidOf("over").promise,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

Deno.test("a session hears of its tasks, and of no other user's", async () => {
  await using server = startTellingServer();
  const keys = ["one", "two"].map((key) => ({ key, metadata: { name: key } }));
  await using gateway = await startTestGateway({
    routes: [{
      policies: { apiKeyAuthentication: { keys } },
      backends: [{ mcp: { servers: [{ name: "a", url: server.url }] } }],
    }],
  });
  await using one = await connect(gateway.origin, "one");
  await using two = await connect(gateway.origin, "two");

  const created = await one.client.request({
    method: "tools/call",
    params: { name: "work", arguments: {}, task: { ttl: 60_000 } },
  }, CreateTaskResultSchema);
  const { taskId } = created.task;
  await one.client.experimental.tasks.getTask(taskId);
  await Promise.all([one.over(), two.over()]);

  assert.deepEqual(one.tasks, [taskId]);
  assert.deepEqual(two.tasks, []);
});
