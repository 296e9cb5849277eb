import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type {
  ServerNotification,
  ServerRequest,
} from "@modelcontextprotocol/sdk/types.js";
import { createServer, type ServerResponse } from "node:http";
import { once } from "node:events";
import { z } from "zod";

/** Facts that the SDK passes to a tool besides its arguments. */
type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** A server of 2024-11-05, with the official SDK. */
export interface SseServer extends AsyncDisposable {
  readonly url: string;
  /** Number of sessions so far. */
  readonly sessions: number;
  /** Breaks the streams of all sessions. */
  breakStreams(): void;
}

/** Starts the server. @param endpoint Names another endpoint for messages. */
export async function startSseServer(
  endpoint = "/messages?key=a%2Fb",
): Promise<SseServer> {
  const open = new Map<
    string,
    {
      readonly transport: SSEServerTransport;
      readonly response: ServerResponse;
    }
  >();
  let sessions = 0;
  const http = createServer(async (request, response) => {
    const url = new URL(request.url ?? "", "http://localhost");
    if (request.method === "GET") {
      sessions++;
      const transport = new SSEServerTransport(endpoint, response);
      open.set(transport.sessionId, { transport, response });
      await createMcpServer().connect(transport);
      return;
    }
    const session = open.get(url.searchParams.get("sessionId") ?? "");
    if (session !== undefined && url.searchParams.get("key") === "a/b") {
      return await session.transport.handlePostMessage(request, response);
    }
    response.writeHead(404).end();
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = http.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const breakStreams = () => {
    for (const { response } of open.values()) response.destroy();
    open.clear();
  };
  return {
    url: `http://127.0.0.1:${port}/sse`,
    get sessions() {
      return sessions;
    },
    breakStreams,
    async [Symbol.asyncDispose]() {
      breakStreams();
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    },
  };
}

function createMcpServer(): McpServer {
  const server = new McpServer({ name: "sse", version: "1.0.0" });
  let calls = 0;
  server.registerTool("count", { description: "Counts its calls" }, () => ({
    content: [{ type: "text", text: String(++calls) }],
  }));
  server.registerTool(
    "greet",
    {
      description: "Asks for a name, and reports progress",
      inputSchema: { greeting: z.string() },
    },
    async ({ greeting }: { greeting: string }, extra: Extra) => {
      const { sendNotification, _meta } = extra;
      const progressToken = _meta?.progressToken;
      if (progressToken !== undefined) {
        await sendNotification({
          method: "notifications/progress",
          params: { progressToken, progress: 1 },
        });
      }
      const { content } = await server.server.elicitInput({
        message: "Your name?",
        requestedSchema: {
          type: "object",
          properties: { name: { type: "string" } },
        },
      });
      return {
        content: [{ type: "text", text: `${greeting} ${content?.["name"]}` }],
      };
    },
  );
  return server;
}
