import {
  createRequestStateCodec,
  fromJsonSchema,
  type GetPromptResult,
  inputRequired,
  type InputRequiredResult,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import type { InputNeeded } from "./input.ts";
import type { Caller, Notifier, Offer } from "./offer.ts";

/** Signs state that clients carry from one call to the next. */
const stateCodec = createRequestStateCodec<JsonObject>({
  key: crypto.getRandomValues(new Uint8Array(32)),
});

/** Differences between clients with a session and those without. */
export interface ClientSide {
  readonly notify: Notifier;
  subscribe(uri: string): void;
  unsubscribe(uri: string): void;
}

/** Creates a server of the protocol, to be connected to a transport: one for each session, or for each request without one. */
export function createProtocolServer(
  offer: Offer,
  clientOf: (server: McpServer) => ClientSide,
): McpServer {
  const server = new McpServer({ name: "playground", version: "1.0.0" }, {
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true },
      logging: {},
      completions: {},
    },
    requestState: { verify: stateCodec.verify },
  });
  const client = clientOf(server);
  offerResources(server.server, offer, client);
  offerPrompts(server.server, offer, client.notify);
  offerTools(server, offer, client.notify);
  return server;
}

function offerResources(
  server: Server,
  { resources, resourceTemplates, readResource }: Offer,
  client: ClientSide,
): void {
  server.setRequestHandler(
    "resources/list",
    () => ({ resources: [...resources] }),
  );
  server.setRequestHandler(
    "resources/templates/list",
    () => ({ resourceTemplates: [...resourceTemplates] }),
  );
  server.setRequestHandler("resources/read", ({ params: { uri } }) => {
    const contents = readResource(uri);
    if (contents === undefined) throw new ResourceNotFoundError(uri);
    return { contents: [contents] };
  });
  server.setRequestHandler("resources/subscribe", ({ params: { uri } }) => {
    client.subscribe(uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    client.unsubscribe(uri);
    return {};
  });
}

function offerPrompts(
  server: Server,
  { prompts, completeArgument }: Offer,
  notify: Notifier,
): void {
  server.setRequestHandler("prompts/list", () => ({
    prompts: Object.entries(prompts).map((
      [name, { description, arguments: names }],
    ) => ({
      name,
      description,
      arguments: names.map((name) => ({ name, required: true })),
    })),
  }));
  server.setRequestHandler(
    "prompts/get",
    ({ params }, exchange): Promise<GetPromptResult | InputRequiredResult> => {
      const prompt = Object.hasOwn(prompts, params.name)
        ? prompts[params.name]
        : undefined;
      if (prompt === undefined) {
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `Unknown prompt "${params.name}"`,
        );
      }
      const outcome = prompt.render(
        (name) => params.arguments?.[name] ?? "",
        createCaller(server, exchange, notify),
      );
      if (needsInput(outcome)) return requireInput(outcome);
      return Promise.resolve({
        messages: outcome.map((content) => ({ role: "user", content })),
      });
    },
  );
  server.setRequestHandler(
    "completion/complete",
    ({ params }) => ({
      completion: { values: completeArgument(params.argument.value) },
    }),
  );
}

function offerTools(
  server: McpServer,
  { tools }: Offer,
  notify: Notifier,
): void {
  for (
    const [name, { description, inputSchema, call }] of Object.entries(tools)
  ) {
    // Compiled once per schema, however many servers have it.
    const config = {
      description,
      inputSchema: fromJsonSchema<JsonObject>(inputSchema),
    };
    server.registerTool(name, config, async (input, exchange) => {
      const outcome = await call(
        input,
        createCaller(server.server, exchange, notify),
      );
      return needsInput(outcome)
        ? await requireInput(outcome)
        : { content: outcome };
    });
  }
}

function needsInput(
  outcome: readonly unknown[] | InputNeeded,
): outcome is InputNeeded {
  return !Array.isArray(outcome);
}

async function requireInput(
  { requests, state }: InputNeeded,
): Promise<InputRequiredResult> {
  return inputRequired({
    inputRequests: { ...requests },
    ...state && { requestState: await stateCodec.mint(state) },
  });
}

function createCaller(
  server: Server,
  { mcpReq, http }: ServerContext,
  notify: Notifier,
): Caller {
  const progressToken = mcpReq._meta?.progressToken;
  const state = mcpReq.requestState<JsonObject>();
  return {
    capabilities: { ...server.getClientCapabilities() },
    state,
    response(name) {
      const response = mcpReq.inputResponses?.[name];
      return isJsonObject(response) ? response : undefined;
    },
    log: (message) => mcpReq.log("info", message),
    async progress(progress, total) {
      if (progressToken === undefined) return;
      await mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress, total },
      });
    },
    notify,
    disconnect: () => http?.closeSSE?.(),
  };
}
