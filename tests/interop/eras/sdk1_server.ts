import {
  InMemoryTaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks";
// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
// @ts-types="@modelcontextprotocol/sdk/server/webStandardStreamableHttp"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import {
  type ServerNotification,
  type ServerRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import { z } from "zod";
import type { EraServer } from "./era_features.ts";
import { startSessionServer } from "./session_server.ts";

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** State of all sessions. */
interface State {
  cancelled: number;
  /** Servers of the sessions that have subscribed to the resource. */
  readonly subscribed: Set<McpServer>;
}

/** Starts the server of the first generation of the TypeScript SDK. */
export function startSdk1Server(): EraServer {
  const tasks = new InMemoryTaskStore();
  const state: State = { cancelled: 0, subscribed: new Set() };
  const server = startSessionServer(async (options) => {
    const transport = new WebStandardStreamableHTTPServerTransport(options);
    await createServer(tasks, state).connect(transport);
    return transport;
  });
  return {
    name: "TypeScript 1",
    era: "legacy",
    lacks: [],
    prefix: "ts1",
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      tasks.cleanup();
    },
  };
}

function createServer(
  taskStore: InMemoryTaskStore,
  state: State,
): McpServer {
  const server = new McpServer({ name: "ts1", version: "1.0.0" }, {
    capabilities: {
      resources: { subscribe: true },
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    },
    taskStore,
  });
  offerItems(server);
  offerSubscription(server, state);
  offerQuestions(server);
  offerSlowTools(server, state);
  offerTask(server);
  return server;
}

function offerItems(server: McpServer): void {
  server.registerTool(
    "echo",
    { inputSchema: { text: z.string() } },
    ({ text }) => textResult(text),
  );
  server.registerResource("one", "note://one", {}, () => ({
    contents: [{ uri: "note://one", text: "one" }],
  }));
  server.registerPrompt(
    "greet",
    { argsSchema: { name: z.string() } },
    ({ name }) => ({
      messages: [{
        role: "user",
        content: { type: "text", text: `Hello ${name}` },
      }],
    }),
  );
}

function offerSubscription(
  server: McpServer,
  { subscribed }: State,
): void {
  server.server.setRequestHandler(SubscribeRequestSchema, () => {
    subscribed.add(server);
    return {};
  });
  server.server.setRequestHandler(UnsubscribeRequestSchema, () => {
    subscribed.delete(server);
    return {};
  });
  server.server.onclose = () => subscribed.delete(server);
  server.registerTool("touch", {}, async () => {
    for (const each of subscribed) {
      await each.server.sendResourceUpdated({ uri: "note://one" });
    }
    return textResult("touched");
  });
}

function offerQuestions(server: McpServer): void {
  server.registerTool("ask", {}, async () => {
    const { content } = await server.server.elicitInput({
      message: "What is the answer?",
      requestedSchema: {
        type: "object",
        properties: { answer: { type: "string" } },
      },
    });
    return textResult(String(content?.["answer"]));
  });
  server.registerTool("sample", {}, async () => {
    const { content } = await server.server.createMessage({
      messages: [{ role: "user", content: { type: "text", text: "Think" } }],
      maxTokens: 10,
    });
    return textResult(content.type === "text" ? content.text : content.type);
  });
}

function offerSlowTools(
  server: McpServer,
  state: State,
): void {
  server.registerTool("count", {}, async (extra) => {
    for (const number of [1, 2, 3]) await report(extra, number);
    return textResult("counted");
  });
  server.registerTool("resume", {}, async (extra) => {
    await report(extra, 1);
    await new Promise((resolve) => setTimeout(resolve, 800));
    return textResult("resumed");
  });
  server.registerTool("wait", {}, async (extra) => {
    await report(extra, 1);
    await new Promise<void>((resolve) =>
      extra.signal.addEventListener("abort", () => resolve())
    );
    state.cancelled++;
    return textResult("cancelled");
  });
  server.registerTool(
    "cancelled",
    {},
    () => textResult(String(state.cancelled)),
  );
}

async function report(
  { _meta, sendNotification }: Extra,
  progress: number,
): Promise<void> {
  const { progressToken } = _meta ?? {};
  if (progressToken === undefined) return;
  await sendNotification({
    method: "notifications/progress",
    params: { progressToken, progress },
  });
}

function offerTask(server: McpServer): void {
  server.experimental.tasks.registerToolTask("work", {
    execution: { taskSupport: "required" },
  }, {
    async createTask({ taskStore }) {
      const task = await taskStore.createTask({
        ttl: 60_000,
        pollInterval: 50,
      });
      setTimeout(
        () =>
          taskStore.storeTaskResult(
            task.taskId,
            "completed",
            textResult("done"),
          ),
        100,
      );
      return { task };
    },
    getTask: ({ taskId, taskStore }) => taskStore.getTask(taskId),
    async getTaskResult({ taskId, taskStore }) {
      const { content } = await taskStore.getTaskResult(taskId);
      return { content: z.array(z.any()).parse(content) };
    },
  });
}

function textResult(text: string) {
  return { content: [{ type: "text" as const, text }] };
}
