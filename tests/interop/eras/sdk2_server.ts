import {
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  McpServer,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { askModel, askUser, modelText } from "../../../cli/dev/mcp/input.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import type { EraServer } from "./era_features.ts";
import { startSessionServer } from "./session_server.ts";

/** Notifies those who have subscribed to the resource. */
type Touch = () => void | Promise<void>;

/** State of all sessions. */
interface State {
  cancelled: number;
  /** Servers of the sessions that have subscribed to the resource. */
  readonly subscribed: Set<McpServer>;
}

/** Starts the server of the second generation of the TypeScript SDK, for clients with sessions. */
export function startSdk2LegacyServer(): EraServer {
  const state: State = { cancelled: 0, subscribed: new Set() };
  const server = startSessionServer(async (options) => {
    const transport = new WebStandardStreamableHTTPServerTransport(options);
    await createLegacyServer(state).connect(transport);
    return transport;
  });
  return {
    name: "TypeScript 2, legacy",
    era: "legacy",
    lacks: ["task"],
    prefix: "ts2-legacy",
    url: server.url,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Starts the server of the second generation of the TypeScript SDK, for clients of 2026-07-28. */
export function startSdk2ModernServer(): EraServer {
  const state: State = { cancelled: 0, subscribed: new Set() };
  const handler = createMcpHandler(
    () =>
      createServer(state, () => handler.notify.resourceUpdated("note://one")),
    { legacy: "reject" },
  );
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => handler.fetch(request),
  );
  return {
    name: "TypeScript 2, modern",
    era: "modern",
    lacks: ["task"],
    prefix: "ts2-modern",
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    async [Symbol.asyncDispose]() {
      await handler.close();
      await server.shutdown();
    },
  };
}

function createLegacyServer(state: State): McpServer {
  const { subscribed } = state;
  const server = createServer(state, async () => {
    for (const each of subscribed) {
      await each.server.sendResourceUpdated({ uri: "note://one" });
    }
  });
  server.server.setRequestHandler("resources/subscribe", () => {
    subscribed.add(server);
    return {};
  });
  server.server.setRequestHandler("resources/unsubscribe", () => {
    subscribed.delete(server);
    return {};
  });
  server.server.onclose = () => subscribed.delete(server);
  return server;
}

/** Creates a server that clients of either era can use. */
export function createServer(state: State, touch: Touch): McpServer {
  const server = new McpServer({ name: "ts2", version: "1.0.0" }, {
    capabilities: { resources: { subscribe: true } },
  });
  offerItems(server, touch);
  offerQuestions(server);
  offerSlowTools(server, state);
  return server;
}

function offerItems(server: McpServer, touch: Touch): void {
  server.registerTool(
    "echo",
    { inputSchema: textInput },
    ({ text }) => textResult(text),
  );
  server.registerTool("touch", {}, async () => {
    await touch();
    return textResult("touched");
  });
  server.registerResource("one", "note://one", {}, () => ({
    contents: [{ uri: "note://one", text: "one" }],
  }));
  server.registerPrompt(
    "greet",
    { argsSchema: nameInput },
    ({ name }) => ({
      messages: [{
        role: "user",
        content: { type: "text", text: `Hello ${name}` },
      }],
    }),
  );
}

const textInput = fromJsonSchema<{ text: string }>({
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
});
const nameInput = fromJsonSchema<{ name: string }>({
  type: "object",
  properties: { name: { type: "string" } },
  required: ["name"],
});

/** The SDK asks clients of older revisions itself. */
function offerQuestions(server: McpServer): void {
  server.registerTool("ask", {}, ({ mcpReq }) => {
    const response = mcpReq.inputResponses?.["answer"];
    if (!isJsonObject(response)) {
      const question = askUser("What is the answer?", {
        type: "object",
        properties: { answer: { type: "string" } },
      });
      return inputRequired({ inputRequests: { answer: question } });
    }
    const { content } = response;
    return textResult(
      isJsonObject(content) ? String(content["answer"]) : "no content",
    );
  });
  server.registerTool("sample", {}, ({ mcpReq }) => {
    const response = mcpReq.inputResponses?.["answer"];
    return isJsonObject(response)
      ? textResult(modelText(response) ?? "no text")
      : inputRequired({ inputRequests: { answer: askModel("Think") } });
  });
}

function offerSlowTools(server: McpServer, state: State): void {
  server.registerTool("count", {}, async (context) => {
    for (const number of [1, 2, 3]) await report(context, number);
    return textResult("counted");
  });
  server.registerTool("resume", {}, async (context) => {
    await report(context, 1);
    await new Promise((resolve) => setTimeout(resolve, 800));
    return textResult("resumed");
  });
  server.registerTool("wait", {}, async (context) => {
    await report(context, 1);
    await new Promise<void>((resolve) =>
      context.mcpReq.signal.addEventListener("abort", () => resolve())
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
  { mcpReq }: ServerContext,
  progress: number,
): Promise<void> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  await mcpReq.notify({
    method: "notifications/progress",
    params: { progressToken, progress },
  });
}

function textResult(text: string) {
  return { content: [{ type: "text" as const, text }] };
}
