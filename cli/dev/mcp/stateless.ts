import {
  createMcpHandler,
  isLegacyRequest,
} from "@modelcontextprotocol/server";
import type { Offer } from "./offer.ts";
import { createProtocolServer } from "./protocol_server.ts";

/** Handles requests of MCP 2026-07-28, which has no sessions. */
export interface StatelessHandler {
  /** Returns whether a request is of that revision; its body stays readable. */
  accepts(request: Request): Promise<boolean>;
  handle(request: Request): Promise<Response>;
  /** Ends open requests and subscriptions. */
  close(): Promise<void>;
}

/** Creates the handler; each request gets an MCP server of its own. */
export function createStatelessHandler(offer: Offer): StatelessHandler {
  const handler = createMcpHandler(
    () =>
      createProtocolServer(offer, () => ({
        notify: handler.notify,
        // Clients of this revision subscribe with `subscriptions/listen`, which the handler answers.
        subscribe: () => {},
        unsubscribe: () => {},
      })),
    { legacy: "reject" },
  );
  return {
    accepts: async (request) => !await isLegacyRequest(request),
    handle: (request) => handler.fetch(request),
    close: () => handler.close(),
  };
}
