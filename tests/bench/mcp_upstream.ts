// Acts as MCP servers: the first segment of the path is the era, the second the number of tools, as in `/modern/10`.

const server = { name: "bench", version: "1.0.0" };
const content = [{ type: "text", text: "some words of a result" }];

function toolsOf(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    name: `tool_${index}`,
    description: "Does one of the things that tools of servers do.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "Words to look for." },
        limit: { type: "integer", minimum: 1, maximum: 100 },
      },
      required: ["query"],
    },
  }));
}

function modernResult(method: unknown, tools: number) {
  const cached = { ttlMs: 600_000, cacheScope: "public" };
  switch (method) {
    case "server/discover":
      return {
        ...cached,
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {} },
      };
    case "tools/list":
      return { ...cached, tools: toolsOf(tools) };
    default:
      return { content };
  }
}

function legacyResult(method: unknown, tools: number) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: server,
      };
    case "tools/list":
      return { tools: toolsOf(tools) };
    default:
      return { content };
  }
}

function failed(id: unknown): Response {
  const error = { code: -32601, message: "Method not found" };
  return Response.json({ jsonrpc: "2.0", id, error }, { status: 404 });
}

Deno.serve(
  { port: Number(Deno.args[0]), hostname: "127.0.0.1", onListen() {} },
  async (request) => {
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const [, era, tools] = new URL(request.url).pathname.split("/");
    const { id, method } = await request.json();
    if (id === undefined) return new Response(null, { status: 202 });
    if (era === "modern") {
      const result = modernResult(method, Number(tools));
      return Response.json({
        jsonrpc: "2.0",
        id,
        result: { resultType: "complete", ...result },
      });
    }
    if (method === "server/discover") return failed(id);
    const result = legacyResult(method, Number(tools));
    return Response.json({ jsonrpc: "2.0", id, result }, {
      headers: { "mcp-session-id": "a-session-of-the-server" },
    });
  },
);
