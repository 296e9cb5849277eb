/** Sessions of real MCP clients at a backend with several MCP servers, none of which knows the sessions of the others. */
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { startReloadableGateway } from "../../harness/gateway/reloadable_gateway.ts";

const CLIENTS = 12;

interface Session extends AsyncDisposable {
  readonly id: string | undefined;
  /** Calls a tool. */
  call(): Promise<unknown>;
}

interface Server extends AsyncDisposable {
  readonly port: number;
}

function startServer(): Server {
  const server = startMcpServer();
  let closed: Promise<void> | undefined;
  return {
    port: Number(new URL(server.origin).port),
    [Symbol.asyncDispose]: () => closed ??= server.close(),
  };
}

function fleet(servers: readonly Server[]) {
  return {
    routes: [{ backends: [{ backend: "fleet" }] }],
    backends: [{
      name: "fleet",
      endpoints: servers.map(({ port }) => ({ host: "127.0.0.1", port })),
    }],
  };
}

const call = { name: "echo", arguments: { text: "hello" } };

async function open(origin: string, index: number): Promise<Session> {
  const url = new URL(`${origin}/mcp`);
  if (index % 2 === 0) {
    const transport = new StreamableHTTPClientTransport(url);
    const client = new Client({ name: "v1", version: "1.0.0" });
    await client.connect(transport);
    return {
      id: transport.sessionId,
      call: () => client.callTool(call),
      [Symbol.asyncDispose]: () => client.close(),
    };
  }
  const transport = new TransportV2(url);
  const client = new ClientV2({ name: "v2", version: "1.0.0" });
  await client.connect(transport);
  return {
    id: transport.sessionId,
    call: () => client.callTool(call),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function openAll(origin: string): Promise<Session[]> {
  return Promise.all(
    Array.from({ length: CLIENTS }, (_, index) => open(origin, index)),
  );
}

/** Calls a tool three times in each session; returns the sessions where that failed. */
async function findLost(sessions: readonly Session[]): Promise<Session[]> {
  const lost = new Set<Session>();
  for (let round = 0; round < 3; round++) {
    await Promise.all(sessions.map(async (session) => {
      await session.call().catch(() => lost.add(session));
    }));
  }
  return [...lost];
}

function closeAll(sessions: readonly Session[]) {
  return {
    [Symbol.asyncDispose]: async () => {
      await Promise.all(
        sessions.map((session) => session[Symbol.asyncDispose]()),
      );
    },
  };
}

Deno.test("each MCP session stays at its server, while others come and go", async () => {
  await using one = startServer();
  await using two = startServer();
  await using three = startServer();
  await using four = startServer();
  await using gateway = await startReloadableGateway([
    fleet([one, two, three]),
  ]);
  const sessions = await openAll(gateway.origin);
  await using _open = closeAll(sessions);

  assert.equal(new Set(sessions.map(endpointOf)).size, 3);
  assert.deepEqual(await findLost(sessions), []);

  await gateway.reload([fleet([four, three, two, one])]);
  assert.deepEqual(await findLost(sessions), []);

  await gateway.reload([fleet([one, two, four])]);
  const moved = await findLost(sessions);
  const left = new Set(sessions.filter((each) => !moved.includes(each)));
  assert.equal(new Set(moved.map(endpointOf)).size, 1);
  assert.equal(new Set([...left].map(endpointOf)).size, 2);
});

/** The part of a session ID that names its endpoint. */
function endpointOf({ id = "" }: Session): string {
  return id.slice(id.indexOf("~"));
}

Deno.test("clients of a server that has died get 404, and begin new sessions", async () => {
  await using one = startServer();
  await using two = startServer();
  await using gateway = await startTestGateway(fleet([one, two]));
  const sessions = await openAll(gateway.origin);
  await using _open = closeAll(sessions);

  await one[Symbol.asyncDispose]();

  const lost = await findLost(sessions);
  assert(lost.length > 0 && lost.length < CLIENTS, String(lost.length));
  for (const session of lost) {
    await assert.rejects(() => session.call(), /Session not found/);
  }
  const again = await Promise.all(
    lost.map((_, index) => open(gateway.origin, index)),
  );
  await using _again = closeAll(again);
  assert.deepEqual(await findLost(again), []);
});

Deno.test("a session stays with its backend when a route has several", async () => {
  await using one = startServer();
  await using two = startServer();
  await using gateway = await startTestGateway({
    routes: [{
      backends: [one, two].map(({ port }) => ({ host: `127.0.0.1:${port}` })),
    }],
  });
  const sessions = await openAll(gateway.origin);
  await using _open = closeAll(sessions);

  assert.equal(new Set(sessions.map(endpointOf)).size, 2);
  assert.deepEqual(await findLost(sessions), []);
});
