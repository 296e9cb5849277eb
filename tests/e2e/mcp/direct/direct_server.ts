/** MCP servers of both eras whose answers are written by hand, for calls that pass as bytes. */
/** The eras of the protocol. */
export const eras = ["legacy", "modern"] as const;
/** An era of the protocol. */
export type Era = (typeof eras)[number];
/** Begins the names of members of `_meta`. */
export const PREFIX = "io.modelcontextprotocol";
/** Valid JSON that `JSON.stringify` would write otherwise. */
export const spelled = '[ {"type": "text","text":"\\u0061 1.0"} ]';

/** A message of the log, which the tool `noted` sends before its answer. */
const NOTE =
  '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":"soon"}}';

/** Results by the name of the tool: JSON, or the whole response. */
const results: Readonly<Record<string, string>> = {
  plain: `{"content":${spelled}}`,
  failing: `{"content":${spelled},"isError":true}`,
  meta: `{"content":${spelled},"_meta":{"${PREFIX}/x":1,"own":2}}`,
  link:
    '{"content":[{"type":"resource_link","name":"a","uri":"file:///a"},{"type":"text","text":"a"}]}',
  escaped: '{"content":[{"type":"resource\\u005flink","uri":"file:///a"}]}',
  twice: '{"content":[{"type":"text","text":"a"}],"content":[]}',
  long: `{"content":${spelled},"structuredContent":{"a":"${
    "b".repeat(2000)
  }"}}`,
  wide: `{"content":[{"type":"text","text":"${"w".repeat(100_000)}"}]}`,
  slow: `{"content":${spelled}}`,
  noted: `{"content":${spelled}}`,
  lost: `{"content":${spelled}}`,
  forgetful: `{"content":${spelled}}`,
  huge: `{"content":[{"type":"text","text":"${"c".repeat(200_000)}"}]}`,
  broken: '{"content":[{"type":"text","text":tru}]}',
};

/** Number of tools of a server. */
export const TOOLS = Object.keys(results).length;

/** Form of the answers of a server: a message, or a stream of events. */
export type Form = "json" | "sse";

/** Starts a server of an era that answers as `results` say, in a form. */
export function startServer(era: Era, form: Form) {
  const bodies: string[] = [];
  const ports: number[] = [];
  const hanging = Promise.withResolvers<unknown>();
  const ended = Promise.withResolvers<unknown>();
  const released = Promise.withResolvers<void>();
  let sessions = 0;
  /** The session that the tool `lost` does not know. */
  let forgotten: string | null | undefined;
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request, { remoteAddr }) => {
      if (request.method !== "POST") return new Response(null, { status: 405 });
      const text = await request.text();
      const { id, method, params } = JSON.parse(text);
      if (method === "notifications/cancelled") ended.resolve(params.requestId);
      if (id === undefined) return new Response(null, { status: 202 });
      if (params.name === "hanging") {
        request.signal.addEventListener("abort", () => ended.resolve(id));
        hanging.resolve(id);
        await ended.promise;
      }
      if (params.name === "slow") await released.promise;
      if (params.name === "forgetful") {
        return new Response(null, { status: 404 });
      }
      if (params.name === "lost" && era === "legacy") {
        const session = request.headers.get("mcp-session-id");
        forgotten ??= session;
        if (session === forgotten) return new Response(null, { status: 404 });
      }
      if (method === "server/discover" && era === "legacy") {
        const error = { code: -32601, message: "Method not found" };
        const body = { jsonrpc: "2.0", id, error };
        return Response.json(body, { status: 404 });
      }
      if (method === "tools/call") {
        bodies.push(text);
        ports.push(remoteAddr.port);
      }
      const result = method === "tools/call"
        ? results[params.name] ?? "{}"
        : JSON.stringify(aboutOf(era));
      const complete = era === "modern"
        ? result.replace("{", '{"resultType":"complete",')
        : result;
      const message = `{"jsonrpc":"2.0","id":${id},"result":${complete}}`;
      const headers = {
        "content-type": "application/json",
        ...(method === "initialize" && { "mcp-session-id": `${++sessions}` }),
      };
      if (form === "json" || method !== "tools/call") {
        return new Response(message, { headers });
      }
      const note = params.name === "noted" ? `data: ${NOTE}\n\n` : "";
      return new Response(
        `${note}event: message\r\ndata: ${message}\r\n\r\n`,
        { headers: { "content-type": "text/event-stream" } },
      );
    },
  );
  const url = `http://127.0.0.1:${server.addr.port}/mcp`;
  const hung = { began: hanging.promise, ended: ended.promise };
  return {
    server,
    bodies,
    ports,
    hung,
    release: () => released.resolve(),
    url,
  };
}

function aboutOf(era: Era) {
  const tools = Object.keys(results).map((name) => ({
    name,
    inputSchema: { type: "object" },
  }));
  const about = { capabilities: { tools: {} }, ttlMs: 60_000, tools };
  return era === "modern"
    ? { ...about, cacheScope: "public", supportedVersions: ["2026-07-28"] }
    : {
      ...about,
      protocolVersion: "2025-11-25",
      serverInfo: { name: "test", version: "1.0.0" },
    };
}
