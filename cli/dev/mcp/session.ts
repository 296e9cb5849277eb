import {
  type JSONRPCMessage,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { EventLog } from "./event_log.ts";
import type { Offer } from "./offer.ts";
import { type ClientSide, createProtocolServer } from "./protocol_server.ts";

/** Session of one client of a revision before 2026-07-28: an MCP server of its own over streamable HTTP. */
export interface Session {
  /** `undefined` until the client has initialized it. */
  readonly id: string | undefined;
  handle(request: Request): Promise<Response>;
  close(): Promise<void>;
}

const REPLAYABLE_EVENTS = 1000;
const RETRY_MS = 500;

/** Opens a session; `onClose` runs when either side has closed it. */
export async function openSession(
  offer: Offer,
  onClose: (id: string) => void,
): Promise<Session> {
  const server = createProtocolServer(offer, clientOfSession);
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => crypto.randomUUID(),
    eventStore: new EventLog<JSONRPCMessage>(REPLAYABLE_EVENTS),
    retryInterval: RETRY_MS,
  });
  server.server.onclose = () => {
    if (transport.sessionId !== undefined) onClose(transport.sessionId);
  };
  await server.connect(transport);
  return {
    get id() {
      return transport.sessionId;
    },
    handle: (request) => transport.handleRequest(request),
    close: () => server.close(),
  };
}

/** Notifies the client on its standalone stream. */
function clientOfSession({ server }: McpServer): ClientSide {
  const subscriptions = new Set<string>();
  return {
    subscribe: (uri) => subscriptions.add(uri),
    unsubscribe: (uri) => subscriptions.delete(uri),
    notify: {
      toolsChanged: () => server.sendToolListChanged(),
      promptsChanged: () => server.sendPromptListChanged(),
      async resourceUpdated(uri) {
        if (subscriptions.has(uri)) await server.sendResourceUpdated({ uri });
      },
    },
  };
}
