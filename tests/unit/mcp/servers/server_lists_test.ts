import assert from "node:assert/strict";
import { systemClock } from "../../../../src/base/clock.ts";
import { McpServer } from "../../../../src/mcp/servers/federated_server.ts";
import { ServerLists } from "../../../../src/mcp/servers/lists/server_lists.ts";
import type { ServerConnection } from "../../../../src/mcp/servers/server_connection.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";

function unexpected(): Promise<never> {
  return Promise.reject(new Error("not expected"));
}

function createServer(): McpServer {
  return new McpServer({
    settings: {
      name: "docs",
      prefix: "docs",
      tools: undefined,
      descriptions: new Map(),
      timeouts: { connectMs: 1000, listMs: 1000, callMs: 1000 },
    },
    address: "docs",
    createConnector: () => ({
      scopeOf: () => "",
      connect: unexpected,
      isStale: () => false,
      forget() {},
      retire() {},
      close: unexpected,
    }),
    clock: systemClock,
    log: new RecordedLog(),
    check: unexpected,
    onChange() {},
    onListsChanged() {},
    parameterHeaders: unexpected,
  });
}

/** Creates a conversation that lists a tool per page, named after its view. @param later Its view from the second page on. */
function connectionOf(view: string, later = view): ServerConnection {
  let current = view;
  return {
    about: {
      era: "legacy",
      capabilities: { tools: {} },
      instructions: undefined,
    },
    get view() {
      return current;
    },
    isShareable: true,
    session: undefined,
    request(_, { cursor }) {
      if (cursor !== undefined) current = later;
      const name = `${current}_${cursor ?? 0}`;
      return Promise.resolve({
        tools: [{ name, inputSchema: { type: "object" } }],
        ...(cursor === undefined && { nextCursor: "1" }),
      });
    },
    notify: unexpected,
    listen: unexpected,
    close: unexpected,
  };
}

Deno.test("users do not share a list whose later pages came from a process of one of them", async () => {
  const server = createServer();
  const lists = new ServerLists(systemClock, unexpected);
  const moving = connectionOf("common", "alice");
  const common = connectionOf("common");

  const seen = await lists.get("tools", server, moving, "alice");
  const shared = await lists.get("tools", server, common, "bob");

  assert.deepEqual([...seen.items.keys()], ["common_0", "alice_1"]);
  assert.deepEqual([...shared.items.keys()], ["common_0", "common_1"]);
});
