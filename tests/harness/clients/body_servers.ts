import type { AddressInfo } from "node:net";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import express from "express";
// @ts-types="@modelcontextprotocol/sdk/server"
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
// @ts-types="@modelcontextprotocol/sdk/server/streamableHttp"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { isJsonObject } from "../../../src/base/json.ts";

/** A real server that reports the tool or model in the bodies that it received. */
export interface BodyServer extends AsyncDisposable {
  readonly port: number;
  /** Tools or models in the order of the requests; requests without one are left out. */
  readonly seen: string[];
}

/** A request as `express.json()` parses it. */
type ExpressRequest = IncomingMessage & { readonly body: unknown };

/** Content of the servers' responses: the tool or model, and the argument `n` of a tool; `readSaw` reads it. */
function sawText(name: string, argument?: unknown): string {
  const json = JSON.stringify([name, argument ?? null]);
  return `saw:${new TextEncoder().encode(json).toBase64()}:`;
}

/** Reads what a server says that it saw; `undefined` when it saw nothing. */
export function readSaw(
  responseBody: string,
): readonly [name: string, argument: unknown] | undefined {
  const [, encoded] = /saw:([\w+/=]+):/.exec(responseBody) ?? [];
  if (encoded === undefined) return undefined;
  const text = new TextDecoder().decode(Uint8Array.fromBase64(encoded));
  const [name, argument]: unknown[] = JSON.parse(text);
  return [String(name), argument];
}

/** Starts the official MCP SDK behind `express.json()`, as its own examples do; it offers every tool. */
export function startOfficialMcpServer(): Promise<BodyServer> {
  const seen: string[] = [];
  const app = createMcpExpressApp();
  const handle = async (request: ExpressRequest, response: ServerResponse) => {
    const server = new Server({ name: "official", version: "1.0.0" }, {
      capabilities: { tools: {} },
    });
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
      seen.push(params.name);
      const { name, arguments: args } = params;
      return { content: [{ type: "text", text: sawText(name, args?.["n"]) }] };
    });
    const transport = new StreamableHTTPServerTransport({
      enableJsonResponse: true,
    });
    response.on("close", () => transport.close());
    await server.connect(transport);
    await transport.handleRequest(request, response, request.body);
  };
  app.post("/mcp", handle);
  return listen(app, seen);
}

/** Starts a server with the path of OpenAI's chats behind `express.json()`. */
export function startExpressLlm(): Promise<BodyServer> {
  const seen: string[] = [];
  const app = express();
  app.use(express.json());
  const handle = ({ body }: ExpressRequest, response: ServerResponse) => {
    const model = isJsonObject(body) ? body["model"] : undefined;
    if (typeof model !== "string") return void response.writeHead(400).end();
    seen.push(model);
    response.end(sawText(model));
  };
  app.post("/v1/chat/completions", handle);
  return listen(app, seen);
}

async function listen(
  listener: RequestListener,
  seen: string[],
): Promise<BodyServer> {
  const server = createServer(listener);
  await new Promise<void>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve())
  );
  const { port } = server.address() as AddressInfo;
  return {
    port,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
