// The SDK's exports name type files that do not exist for paths that end in `.js`, hence `@ts-types`.
import { Server } from "@modelcontextprotocol/sdk/server";
// @ts-types="@modelcontextprotocol/sdk/server/webStandardStreamableHttp"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  ErrorCode,
  GetPromptRequestSchema,
  type JSONRPCMessage,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type ServerNotification,
  type ServerRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describeError } from "../../../src/base/errors.ts";
import { EventLog } from "./event_log.ts";
import { type Caller, type Offer, text } from "./offer.ts";

/** Session of one client: an MCP server of its own over streamable HTTP. */
export interface Session {
  /** `undefined` until the client has initialized it. */
  readonly id: string | undefined;
  handle(request: Request): Promise<Response>;
  close(): Promise<void>;
}

const REPLAYABLE_EVENTS = 1000;
const RETRY_MS = 500;
const RESOURCE_NOT_FOUND = -32002;

/** Opens a session; `onClose` runs when either side has closed it. */
export async function openSession(
  offer: Offer,
  onClose: (id: string) => void,
): Promise<Session> {
  // Not `McpServer`: that derives JSON Schema from Zod, and the tools here have raw JSON Schema.
  const server = new Server({ name: "playground", version: "1.0.0" }, {
    capabilities: {
      tools: {},
      prompts: {},
      resources: { subscribe: true },
      logging: {},
      completions: {},
    },
  });
  offerTools(server, offer, offerResources(server, offer));
  offerPrompts(server, offer);

  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => crypto.randomUUID(),
    eventStore: new EventLog<JSONRPCMessage>(REPLAYABLE_EVENTS),
    retryInterval: RETRY_MS,
  });
  server.onclose = () => {
    if (transport.sessionId !== undefined) onClose(transport.sessionId);
  };
  await server.connect(transport);
  return {
    get id() {
      return transport.sessionId;
    },
    handle: (request) => transport.handleRequest(request),
    close: () => server.close(),
  };
}

/** Returns the URIs that the client has subscribed to, kept up to date. */
function offerResources(
  server: Server,
  { resources, resourceTemplates, readResource }: Offer,
): ReadonlySet<string> {
  const subscriptions = new Set<string>();
  server.setRequestHandler(
    ListResourcesRequestSchema,
    () => ({ resources: [...resources] }),
  );
  server.setRequestHandler(
    ListResourceTemplatesRequestSchema,
    () => ({ resourceTemplates: [...resourceTemplates] }),
  );
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const contents = readResource(uri);
    if (contents === undefined) {
      throw new McpError(RESOURCE_NOT_FOUND, "Resource not found", { uri });
    }
    return { contents: [contents] };
  });
  server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
    subscriptions.add(uri);
    return {};
  });
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
    subscriptions.delete(uri);
    return {};
  });
  return subscriptions;
}

function offerPrompts(
  server: Server,
  { prompts, completeArgument }: Offer,
): void {
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: Object.entries(prompts).map((
      [name, { description, arguments: names }],
    ) => ({
      name,
      description,
      arguments: names.map((name) => ({ name, required: true })),
    })),
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
    const prompt = Object.hasOwn(prompts, params.name)
      ? prompts[params.name]
      : undefined;
    if (prompt === undefined) {
      throw new McpError(
        ErrorCode.InvalidParams,
        `Unknown prompt "${params.name}"`,
      );
    }
    const contents = prompt.render((name) => params.arguments?.[name] ?? "");
    return {
      messages: contents.map((content) => ({ role: "user" as const, content })),
    };
  });
  server.setRequestHandler(
    CompleteRequestSchema,
    ({ params }) => ({
      completion: { values: completeArgument(params.argument.value) },
    }),
  );
}

function offerTools(
  server: Server,
  { tools }: Offer,
  subscriptions: ReadonlySet<string>,
): void {
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.entries(tools).map((
      [name, { description, inputSchema }],
    ) => ({
      name,
      description,
      inputSchema,
    })),
  }));
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params }, exchange) => {
      const tool = Object.hasOwn(tools, params.name)
        ? tools[params.name]
        : undefined;
      if (tool === undefined) {
        throw new McpError(
          ErrorCode.InvalidParams,
          `Unknown tool "${params.name}"`,
        );
      }
      try {
        const caller = createCaller(server, exchange, subscriptions);
        return { content: await tool.call(params.arguments ?? {}, caller) };
      } catch (error) {
        return { content: [text(describeError(error))], isError: true };
      }
    },
  );
}

function createCaller(
  server: Server,
  exchange: RequestHandlerExtra<ServerRequest, ServerNotification>,
  subscriptions: ReadonlySet<string>,
): Caller {
  const progressToken = exchange._meta?.progressToken;
  return {
    log: (data) =>
      exchange.sendNotification({
        method: "notifications/message",
        params: { level: "info", data },
      }),
    async progress(progress, total) {
      if (progressToken === undefined) return;
      await exchange.sendNotification({
        method: "notifications/progress",
        params: { progressToken, progress, total },
      });
    },
    async sample(prompt) {
      const messages = [{
        role: "user" as const,
        content: { type: "text" as const, text: prompt },
      }];
      const { content } = await exchange.sendRequest(
        {
          method: "sampling/createMessage",
          params: { messages, maxTokens: 100 },
        },
        CreateMessageResultSchema,
      );
      return content.type === "text" ? content.text : `(${content.type})`;
    },
    elicit: (message, requestedSchema) =>
      exchange.sendRequest(
        { method: "elicitation/create", params: { message, requestedSchema } },
        ElicitResultSchema,
      ),
    async resourceUpdated(uri) {
      if (subscriptions.has(uri)) await server.sendResourceUpdated({ uri });
    },
    disconnect: () => exchange.closeSSEStream?.(),
  };
}
