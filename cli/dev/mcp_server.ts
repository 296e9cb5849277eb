import { type Clock, systemClock } from "../../src/base/clock.ts";
import { type LoopbackServer, serveLoopback } from "./loopback_server.ts";
import { createDemoOffer } from "./mcp/demo_offer.ts";
import { isLocalRequest } from "./mcp/local_request.ts";
import type { Offer } from "./mcp/offer.ts";
import { type SessionLimits, SessionStore } from "./mcp/session_store.ts";
import type { StatelessHandler } from "./mcp/stateless.ts";

/** Options of the MCP server; every field has a default. */
export interface McpServerOptions extends Partial<SessionLimits> {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** Names besides `localhost`, `127.0.0.1` and `[::1]` that `Host` and `Origin` may have, without port. */
  readonly allowedHosts?: readonly string[];
  readonly clock?: Clock;
  /** Tools, prompts and resources; a demonstration by default. */
  readonly offer?: Offer;
}

/**
 * Starts an MCP server with streamable HTTP at `/mcp`: tools, prompts, resources, notifications, and questions to the client; for
 * MCP 2026-07-28 without sessions, for older revisions with sessions and resumable event streams.
 */
export function startMcpServer(options: McpServerOptions = {}): LoopbackServer {
  const { port = 0, allowedHosts = [], clock = systemClock } = options;
  const { idleTimeoutMs = 10 * 60_000, maxSessions = 100 } = options;
  const sessions = new SessionStore({ idleTimeoutMs, maxSessions }, clock);
  const { offer = createDemoOffer(clock) } = options;
  let stateless: Promise<StatelessHandler> | undefined;

  const server = serveLoopback(port, (request, { completed }) => {
    if (new URL(request.url).pathname !== "/mcp") {
      return reject(404, "Not found: try /mcp");
    }
    if (!isLocalRequest(request.headers, allowedHosts)) {
      return reject(403, "Host and Origin must be local");
    }
    const id = request.headers.get("mcp-session-id");
    if (id === null) return handleWithoutSession(request);
    return sessions.use(id, completed)?.handle(request) ??
      reject(404, "Session not found");
  });

  // The SDK takes longer to load than the rest of the playground takes to start.
  async function loadStateless() {
    const { createStatelessHandler } = await import("./mcp/stateless.ts");
    return createStatelessHandler(offer);
  }

  async function handleWithoutSession(request: Request): Promise<Response> {
    const handler = await (stateless ??= loadStateless());
    return await handler.accepts(request)
      ? handler.handle(request)
      : initialize(request);
  }

  /** Lets a new session respond; only an `initialize` request keeps it. */
  async function initialize(request: Request): Promise<Response> {
    if (!await sessions.makeRoom()) return reject(503, "Too many sessions");
    const { openSession } = await import("./mcp/session.ts");
    const session = await openSession(offer, (id) => sessions.remove(id));
    const response = await session.handle(request);
    if (session.id === undefined) await session.close();
    else sessions.add(session.id, session);
    return response;
  }

  return {
    origin: server.origin,
    async close() {
      await sessions.closeAll();
      await (await stateless)?.close();
      await server.close();
    },
  };
}

function reject(status: number, message: string): Response {
  return Response.json({
    jsonrpc: "2.0",
    error: { code: -32000, message },
    id: null,
  }, { status });
}
