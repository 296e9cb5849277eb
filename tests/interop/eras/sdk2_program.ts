/** The server of the second generation of the TypeScript SDK as a program, for clients of 2026-07-28 only. */
import type { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createServer } from "./sdk2_server.ts";

const state = { cancelled: 0, subscribed: new Set<McpServer>() };

serveStdio(() => {
  const server = createServer(
    state,
    () => server.server.sendResourceUpdated({ uri: "note://one" }),
  );
  return server;
}, { legacy: "reject" });
