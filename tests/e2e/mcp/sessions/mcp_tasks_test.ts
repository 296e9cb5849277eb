/** Tasks of servers behind one endpoint: their ids lead to the server, and belong to one user. */
import { Client } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { callModern } from "../../../harness/mcp/modern_call.ts";
import { startSdk1Server } from "../../../interop/eras/sdk1_server.ts";

const EXTENSION = "io.modelcontextprotocol/tasks";
const takesTasks = { capabilities: { extensions: { [EXTENSION]: {} } } };

/** Starts a gateway whose users are the keys `one` and `two`. */
async function startGateway(servers: readonly object[]) {
  const keys = ["one", "two"].map((key) => ({ key, metadata: { name: key } }));
  const gateway = await startTestGateway({
    routes: [{
      policies: { apiKeyAuthentication: { keys } },
      backends: [{ mcp: { servers } }],
    }],
  });
  return {
    url: `${gateway.origin}/mcp`,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

function headersOf(user: string) {
  return { authorization: `Bearer ${user}` };
}

Deno.test("a session gets, lists and awaits its tasks at several servers, and no other user's", async () => {
  await using first = startSdk1Server();
  await using second = startSdk1Server();
  await using gateway = await startGateway([
    { name: "a", url: first.url },
    { name: "b", url: second.url },
  ]);
  const connect = async (user: string) => {
    const client = new Client1({ name: "test", version: "1.0.0" });
    const requestInit = { headers: headersOf(user) };
    // After an error, the SDK would come back for a result.
    const reconnectionOptions = {
      maxRetries: 0,
      initialReconnectionDelay: 1,
      maxReconnectionDelay: 1,
      reconnectionDelayGrowFactor: 1,
    };
    await client.connect(
      new Transport1(new URL(gateway.url), {
        requestInit,
        reconnectionOptions,
      }),
    );
    return client;
  };
  const one = await connect("one");
  const two = await connect("two");
  const begin = async (client: Client1, name: string) => {
    const params = { name, arguments: {}, task: { ttl: 60_000 } };
    const request = { method: "tools/call" as const, params };
    const { task } = await client.request(request, CreateTaskResultSchema);
    return task.taskId;
  };

  const ids = [await begin(one, "a_work"), await begin(one, "b_work")];
  const foreign = await begin(two, "a_work");
  const { tasks } = one.experimental;
  const [id = ""] = ids;
  const result = await tasks.getTaskResult(id, CallToolResultSchema);
  const known = await tasks.getTask(id);
  const listed = await tasks.listTasks();

  assert.deepEqual(result.content, [{ type: "text", text: "done" }]);
  assert.deepEqual(result._meta?.["io.modelcontextprotocol/related-task"], {
    taskId: id,
  });
  assert.equal(known.taskId, id);
  assert.deepEqual(listed.tasks.map(({ taskId }) => taskId), ids);
  for (const wrong of [foreign, `${id}x`, "unknown", id.replace(".", "..")]) {
    await assert.rejects(tasks.getTask(wrong), /Unknown task/);
    await assert.rejects(tasks.cancelTask(wrong), /Unknown task/);
  }
  // The server itself knows that the task is over.
  await assert.rejects(tasks.cancelTask(id), /terminal/);
  await one.close();
  await two.close();
});

Deno.test("a client that wants no task gets the result of a tool that has to run as one", async () => {
  await using server = startSdk1Server();
  await using gateway = await startGateway([{ name: "a", url: server.url }]);
  const headers = headersOf("one");
  const { result: { tools } } = await callModern(
    gateway.url,
    "tools/list",
    {},
    {
      headers,
    },
  );

  const { result } = await callModern(gateway.url, "tools/call", {
    name: "work",
    arguments: {},
  }, { headers });

  assert.deepEqual(
    tools.filter((tool: object) => "execution" in tool),
    [],
  );
  assert.equal(result.resultType, "complete");
  assert.deepEqual(result.content, [{ type: "text", text: "done" }]);
});

/** Starts a server of 2026-07-28 whose tool runs as a task, which asks for a name before it is done. */
function startTaskServer() {
  const seen: string[] = [];
  let name: string | undefined;
  const task = () => ({
    taskId: "task 1",
    createdAt: "2026-01-01T00:00:00Z",
    lastUpdatedAt: "2026-01-01T00:00:00Z",
    ttlMs: null,
    pollIntervalMs: 1,
    status: name === undefined ? "input_required" : "completed",
    ...(name === undefined
      ? {
        inputRequests: {
          name: {
            method: "elicitation/create",
            params: { message: "Your name?", requestedSchema: form },
          },
        },
      }
      : {
        result: {
          content: [
            { type: "text", text: `Hello ${name}` },
            { type: "resource_link", uri: "note://one", name: "one" },
          ],
        },
      }),
  });
  const form = { type: "object", properties: { name: { type: "string" } } };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { id, method, params } = await request.json();
      const declared = params?._meta
        ?.["io.modelcontextprotocol/clientCapabilities"]?.extensions
        ?.[EXTENSION];
      const answer = (result: object) =>
        Response.json({
          jsonrpc: "2.0",
          id,
          result: { resultType: "complete", ...result },
        });
      if (method.startsWith("tasks/")) {
        seen.push(`${method} ${request.headers.get("mcp-name")}`);
      }
      switch (method) {
        case "server/discover":
          return answer({
            supportedVersions: ["2026-07-28"],
            capabilities: { tools: {}, extensions: { [EXTENSION]: {} } },
          });
        case "tools/list":
          return answer({
            tools: [{ name: "greet", inputSchema: { type: "object" } }],
            ttlMs: 0,
            cacheScope: "public",
          });
        case "tools/call":
          if (declared !== undefined) {
            return answer({ ...task(), resultType: "task" });
          }
          return Response.json({
            jsonrpc: "2.0",
            id,
            error: {
              code: -32021,
              message: "Missing required client capability",
              data: {
                requiredCapabilities: { extensions: { [EXTENSION]: {} } },
              },
            },
          }, { status: 400 });
        case "tasks/get":
          return answer(task());
        case "tasks/update":
          name = params.inputResponses.name.content.name;
          return answer({});
        case "subscriptions/listen": {
          const notify = (method: string, params: object) =>
            `data: ${
              JSON.stringify({
                jsonrpc: "2.0",
                method,
                params: {
                  ...params,
                  _meta: {
                    "io.modelcontextprotocol/subscriptionId": id,
                  },
                },
              })
            }\n\n`;
          const { notifications } = params;
          const text = notify("notifications/subscriptions/acknowledged", {
            notifications,
          }) + notify("notifications/tasks", task());
          return new Response(text, {
            headers: { "content-type": "text/event-stream" },
          });
        }
        default:
          return answer({});
      }
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    seen,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("a client of 2026-07-28 drives a task of the extension, and no other user can", async () => {
  await using server = startTaskServer();
  await using gateway = await startGateway([
    { name: "tasks", url: server.url },
    { name: "other", url: "http://127.0.0.1:1/mcp" },
  ]);
  const call = (method: string, params: object, user = "one", options = {}) =>
    callModern(gateway.url, method, { ...params }, {
      ...takesTasks,
      ...options,
      headers: { ...headersOf(user) },
    });

  const discovered = await call("server/discover", {});
  const created = await call("tools/call", {
    name: "tasks_greet",
    arguments: {},
  });
  const { taskId } = created.result;
  const open = await call("tasks/get", { taskId });
  const foreign = await call("tasks/get", { taskId }, "two");
  const stolen = await call(
    "tasks/update",
    { taskId, inputResponses: {} },
    "two",
  );
  const undeclared = await call(
    "subscriptions/listen",
    {
      notifications: { taskIds: [taskId] },
    },
    "one",
    { capabilities: {} },
  );
  const inputResponses = {
    name: { action: "accept", content: { name: "Ada" } },
  };
  const updated = await call("tasks/update", { taskId, inputResponses });
  const done = await call("tasks/get", { taskId });
  const cancelled = await call("tasks/cancel", { taskId });
  const legacy = await call("tasks/result", { taskId });

  assert.deepEqual(discovered.result.capabilities.extensions, {
    [EXTENSION]: {},
  });
  assert.equal(created.result.resultType, "task");
  assert.match(taskId, /^[\w.-]+$/);
  assert.equal(open.result.taskId, taskId);
  assert.deepEqual(Object.keys(open.result.inputRequests), ["name"]);
  assert.equal(foreign.error.code, -32602);
  assert.equal(stolen.error.code, -32602);
  assert.equal(undeclared.error.code, -32021);
  assert.equal(updated.result.resultType, "complete");
  assert.equal(done.result.status, "completed");
  assert.deepEqual(done.result.result.content, [
    { type: "text", text: "Hello Ada" },
    { type: "resource_link", uri: "tasks+note://one", name: "one" },
  ]);
  assert.equal(cancelled.result.resultType, "complete");
  assert.equal(legacy.error.code, -32601);
  assert.deepEqual(server.seen, [
    "tasks/get task 1",
    "tasks/update task 1",
    "tasks/get task 1",
    "tasks/cancel task 1",
  ]);
});

Deno.test("a client of 2026-07-28 hears of its tasks", async () => {
  await using server = startTaskServer();
  await using gateway = await startGateway([{
    name: "tasks",
    url: server.url,
  }]);
  const headers = headersOf("one");
  const { result: { taskId } } = await callModern(gateway.url, "tools/call", {
    name: "greet",
    arguments: {},
  }, { ...takesTasks, headers });
  const leaving = new AbortController();
  const response = await fetch(gateway.url, {
    method: "POST",
    signal: leaving.signal,
    headers: {
      ...headers,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "subscriptions/listen",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: "mine",
      method: "subscriptions/listen",
      params: {
        notifications: { taskIds: [taskId, "unknown"] },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": takesTasks.capabilities,
        },
      },
    }),
  });

  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk);
    if (text.includes('"notifications/tasks"')) break;
  }
  leaving.abort();

  const [acknowledged, news] = text.split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)).params);
  assert.deepEqual(acknowledged.notifications, { taskIds: [taskId] });
  assert.equal(news.taskId, taskId);
  assert.equal(news.status, "input_required");
  assert.equal(news._meta["io.modelcontextprotocol/subscriptionId"], "mine");
});

Deno.test("a client with a session is asked by a task of the extension, and gets its result", async () => {
  await using server = startTaskServer();
  await using gateway = await startGateway([{
    name: "tasks",
    url: server.url,
  }]);
  const client = new Client({ name: "test", version: "1.0.0" }, {
    capabilities: { elicitation: {} },
    versionNegotiation: { mode: "legacy" },
  });
  let asked = 0;
  client.setRequestHandler("elicitation/create", () => {
    asked++;
    return { action: "accept" as const, content: { name: "Ada" } };
  });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(gateway.url), {
      requestInit: { headers: headersOf("one") },
    }),
  );

  const { content } = await client.callTool({ name: "greet" });
  await client.close();

  assert.deepEqual(content[0], { type: "text", text: "Hello Ada" });
  assert.equal(asked, 1);
});
