import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server";
// @ts-types="@modelcontextprotocol/sdk/server/sse"
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
// @ts-types="@modelcontextprotocol/sdk/server/streamableHttp"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  CallToolRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

/** An MCP server of the official SDK with pages of tools, prompts and resources. */
export interface PagedServer extends AsyncDisposable {
  readonly port: number;
  /** Names of the tools that were called. */
  readonly called: readonly string[];
}

/**
 * Starts a server without sessions that speaks streamable HTTP at `/mcp`, with event streams, and at `/json`, with JSON responses; and
 * HTTP+SSE at `/sse`. Each page has two tools.
 */
export async function startPagedServer(
  tools: readonly string[],
): Promise<PagedServer> {
  const called: string[] = [];
  const streams = new Map<string, SSEServerTransport>();
  const http = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (url.pathname === "/messages") {
      const stream = streams.get(url.searchParams.get("sessionId") ?? "");
      return await stream?.handlePostMessage(request, response);
    }
    const server = offer(tools, called);
    if (url.pathname === "/sse") {
      const stream = new SSEServerTransport("/messages", response);
      streams.set(stream.sessionId, stream);
      return await server.connect(stream);
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    const transport = new StreamableHTTPServerTransport({
      enableJsonResponse: url.pathname === "/json",
    });
    response.on("close", () => server.close());
    await server.connect(transport);
    await transport.handleRequest(request, response);
  });
  await new Promise<void>((listening) =>
    http.listen(0, "127.0.0.1", listening)
  );
  const { port } = http.address() as AddressInfo;
  return {
    port,
    called,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await closed;
    },
  };
}

const PAGE = 2;

function offer(tools: readonly string[], called: string[]): Server {
  const server = new Server({ name: "paged", version: "1.0.0" }, {
    capabilities: { tools: {}, prompts: {}, resources: {} },
  });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const start = Number(params?.cursor ?? 0);
    const end = start + PAGE;
    return {
      _meta: { "example.com/page": start },
      tools: tools.slice(start, end).map((name) => ({
        name,
        inputSchema: { type: "object" as const },
      })),
      ...(end < tools.length && { nextCursor: String(end) }),
    };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params: { name } }) => {
    called.push(name);
    return { content: [{ type: "text", text: `called ${name}` }] };
  });
  server.setRequestHandler(
    ListPromptsRequestSchema,
    () => ({ prompts: [{ name: "ask" }, { name: "order" }] }),
  );
  server.setRequestHandler(
    GetPromptRequestSchema,
    () => ({ messages: [] }),
  );
  server.setRequestHandler(
    ListResourcesRequestSchema,
    () => ({
      resources: [
        { uri: "file:///public/a", name: "a" },
        { uri: "file:///secret/b", name: "b" },
      ],
    }),
  );
  server.setRequestHandler(
    ListResourceTemplatesRequestSchema,
    () => ({
      resourceTemplates: [{ uriTemplate: "file:///{path}", name: "any" }],
    }),
  );
  server.setRequestHandler(
    ReadResourceRequestSchema,
    ({ params: { uri } }) => ({ contents: [{ uri, text: "content" }] }),
  );
  return server;
}
