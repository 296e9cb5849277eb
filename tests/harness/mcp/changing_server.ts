import { EventStreams } from "./event_streams.ts";

/** Notifications of a server about its lists, by the list. */
const announcements = {
  tools: "notifications/tools/list_changed",
  prompts: "notifications/prompts/list_changed",
  resources: "notifications/resources/list_changed",
} as const;

/** Options of the server. */
export interface ChangingOptions {
  readonly era?: "legacy" | "modern";
  readonly port?: number;
  /** Items of each list at first. */
  readonly names?: readonly string[];
  /** Makes each list for the user who requests it, with the number of the request. */
  readonly isPrivate?: boolean;
}

const HOUR_MS = 3_600_000;

/** Starts an MCP server whose lists are valid for an hour, and have other items after each `change`, which it announces. */
export function startChangingServer(
  { era = "modern", port = 0, names = ["one"], isPrivate = false }:
    ChangingOptions = {},
) {
  const state = { names, lists: 0 };
  const streams = new EventStreams();
  const change = (changed: readonly string[]) => {
    state.names = changed;
    for (const method of Object.values(announcements)) streams.notify(method);
  };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port, onListen: () => {} },
    async (request) => {
      if (request.method === "GET") return streams.open();
      if (request.method === "DELETE") return new Response();
      const { id, method, params } = await request.json();
      if (id === undefined) return new Response(null, { status: 202 });
      if (method === "server/discover" && era === "legacy") {
        const error = { code: -32601, message: "Method not found" };
        return Response.json({ jsonrpc: "2.0", id, error }, { status: 404 });
      }
      if (method === "subscriptions/listen") return streams.open(id);
      if (method === "tools/call" && params.name === "grow") {
        state.names = [...state.names, "grown"];
        const announced = { jsonrpc: "2.0", method: announcements.tools };
        const result = { jsonrpc: "2.0", id, result: { content: [] } };
        return new Response(
          [announced, result].map((each) => `data: ${JSON.stringify(each)}\n\n`)
            .join(""),
          { headers: { "content-type": "text/event-stream" } },
        );
      }
      if (isPrivate && method === "tools/list") {
        state.names = [`own${++state.lists}`];
      }
      const result = {
        ...(era === "modern" && { resultType: "complete" }),
        ...resultOf(state.names, method, isPrivate),
      };
      return Response.json({ jsonrpc: "2.0", id, result }, {
        headers: { ...(era === "legacy" && { "mcp-session-id": "s1" }) },
      });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    port: server.addr.port,
    change,
    /** Breaks all streams, and changes the lists without an announcement. */
    changeUnseen(changed: readonly string[]) {
      streams.break();
      state.names = changed;
    },
    /** Resolves once somebody listens to announcements. */
    listened: streams.opened,
    async [Symbol.asyncDispose]() {
      streams.close();
      await server.shutdown();
    },
  };
}

function resultOf(
  names: readonly string[],
  method: string,
  isPrivate: boolean,
) {
  const listChanged = { listChanged: true };
  const capabilities = {
    tools: listChanged,
    prompts: listChanged,
    resources: listChanged,
  };
  const age = {
    ttlMs: HOUR_MS,
    cacheScope: isPrivate ? "private" : "public",
  };
  switch (method) {
    case "server/discover":
      return { supportedVersions: ["2026-07-28"], capabilities, ...age };
    case "initialize":
      return {
        protocolVersion: "2025-11-25",
        capabilities,
        serverInfo: { name: "changing", version: "1.0.0" },
      };
    case "tools/list": {
      const inputSchema = { type: "object" };
      return { tools: names.map((name) => ({ name, inputSchema })), ...age };
    }
    case "prompts/list":
      return { prompts: names.map((name) => ({ name })), ...age };
    case "resources/list":
      return {
        resources: names.map((name) => ({ name, uri: `note://${name}` })),
        ...age,
      };
    case "resources/templates/list":
      return { resourceTemplates: [], ...age };
    default:
      return { content: [] };
  }
}
