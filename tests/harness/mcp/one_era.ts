/** An MCP server that understands one era only, in front of one that understands both. */
export interface OneEraServer extends AsyncDisposable {
  readonly url: string;
  /** Can be changed. */
  era: "legacy" | "modern";
}

const VERSION = "io.modelcontextprotocol/protocolVersion";

/** Starts the server. @param url Of the server that understands both eras. */
export function startOneEra(
  url: string,
  era: "legacy" | "modern",
): OneEraServer {
  const started = { era };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const text = request.body === null
        ? undefined
        : await request.text().catch(() => "");
      const message = text === undefined || text === "" ? {} : JSON.parse(text);
      const isModern = message.params?._meta?.[VERSION] !== undefined ||
        request.headers.get("mcp-protocol-version") === "2026-07-28";
      if (isModern !== (started.era === "modern")) {
        return reject(message.id, started.era);
      }
      const headers = new Headers(request.headers);
      headers.delete("host");
      return await fetch(url, {
        method: request.method,
        headers,
        ...(text !== undefined && { body: text }),
        signal: request.signal,
      }).catch(() => new Response("the client has gone", { status: 499 }));
    },
  );
  return Object.assign(started, {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  });
}

function reject(id: unknown, era: "legacy" | "modern"): Response {
  const error = era === "legacy"
    ? { code: -32000, message: "Bad Request: no session" }
    : {
      code: -32022,
      message: "Unsupported protocol version",
      data: { supported: ["2026-07-28"], requested: "" },
    };
  return Response.json({ jsonrpc: "2.0", id: id ?? null, error }, {
    status: 400,
  });
}
