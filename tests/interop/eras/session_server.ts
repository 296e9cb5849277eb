import { EventLog } from "../../../cli/dev/mcp/event_log.ts";

/** The web transport of either generation of the TypeScript SDK. */
interface SessionTransport {
  readonly sessionId?: string | undefined;
  handleRequest(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** Options of a transport, the same in both generations. */
export interface TransportOptions {
  readonly sessionIdGenerator: () => string;
  // deno-lint-ignore ban-types
  readonly eventStore: EventLog<{}>;
  readonly retryInterval: number;
}

/** A server with sessions, each of which has a server of the SDK. */
export interface SessionServer extends AsyncDisposable {
  readonly url: string;
}

/** Starts a server of a revision with sessions. @param open Connects a server of the SDK to a new transport. */
export function startSessionServer(
  open: (options: TransportOptions) => Promise<SessionTransport>,
): SessionServer {
  const sessions = new Map<string, SessionTransport>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const id = request.headers.get("mcp-session-id");
      const known = id === null ? undefined : sessions.get(id);
      if (known !== undefined) return await known.handleRequest(request);
      if (id !== null) return new Response("no session", { status: 404 });
      const transport = await open({
        sessionIdGenerator: () => crypto.randomUUID(),
        eventStore: new EventLog(1000),
        retryInterval: 100,
      });
      const response = await transport.handleRequest(request);
      const { sessionId } = transport;
      if (sessionId === undefined) await transport.close();
      else sessions.set(sessionId, transport);
      return response;
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    async [Symbol.asyncDispose]() {
      for (const transport of sessions.values()) await transport.close();
      await server.shutdown();
    },
  };
}
