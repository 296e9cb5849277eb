import { freePort } from "../process/free_port.ts";

/** A server that fails, and comes back when it is told to. */
export interface BrokenServer extends AsyncDisposable {
  readonly url: string;
}

/** Ways in which a server fails. */
export const faults = {
  /** Nobody listens. */
  refused: () =>
    Promise.resolve({
      url: `http://127.0.0.1:${freePort()}/mcp`,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
  /** It accepts connections, and never responds. */
  hung: () => serve((request) => forever(request)),
  garbage: () => serve(() => new Response("<html>It works!</html>")),
  "a status of 500": () => serve(() => new Response("oops", { status: 500 })),
  "a million tools": () =>
    serveTools(() => ({
      tools: Array.from({ length: 20_000 }, (_, index) => tool(`t${index}`)),
    })),
  "endless pages": () => {
    let page = 0;
    return serveTools(() => ({
      tools: [tool(`t${page}`)],
      nextCursor: String(++page),
    }));
  },
  "slow lists": () => serveTools(undefined),
} satisfies Readonly<Record<string, () => Promise<BrokenServer>>>;

function tool(name: string) {
  return { name, inputSchema: { type: "object" } };
}

function forever({ signal }: Request): Promise<Response> {
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(new Response()))
  );
}

/** Serves MCP 2026-07-28 with one list; `undefined` never responds to it. */
function serveTools(
  list: (() => object) | undefined,
): Promise<BrokenServer> {
  return serve(async (request) => {
    const { id, method } = await request.json();
    if (method !== "server/discover" && list === undefined) {
      return await forever(request);
    }
    const result = method === "server/discover"
      ? { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }
      : list?.();
    return Response.json({ jsonrpc: "2.0", id, result });
  });
}

function serve(
  handle: (request: Request) => Response | Promise<Response>,
): Promise<BrokenServer> {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    handle,
  );
  return Promise.resolve({
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  });
}
