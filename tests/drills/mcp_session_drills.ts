/** Sessions that clients of an MCP endpoint leave behind, and replicas that are killed during calls. */
import { GatewayProcess } from "../harness/gateway/gateway_process.ts";
import { killBetweenRounds } from "../harness/mcp/killed_replica.ts";
import { callModern } from "../harness/mcp/modern_call.ts";
import { type Finding, residentMib } from "./drill.ts";

/** `MCP_SESSIONS=200000` makes the drill longer. */
const SESSIONS = Number(Deno.env.get("MCP_SESSIONS") ?? 50_000);
const AT_ONCE = 16;
/** Sessions with state in a process, and those that end just now. */
const MAX_OPEN = 10_000 + 2 * AT_ONCE;
const KILLS = Number(Deno.env.get("MCP_KILLS") ?? 5);

/** Begins sessions that nobody ends: memory stays level, and those that the gateway forgets end at the server, too. */
export async function abandonedSessions(): Promise<Finding[]> {
  const open = new Set<string>();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => answer(request, open),
  );
  const url = `http://127.0.0.1:${server.addr.port}/mcp`;
  await using gateway = await GatewayProcess.start({
    config: {
      routes: [{ backends: [{ mcp: { servers: [{ name: "old", url }] } }] }],
    },
  });
  const figures: Record<string, number> = {};
  const target = `${gateway.origin}/mcp`;
  let begun = 0;
  let failed = 0;
  const startedAt = performance.now();
  const client = async () => {
    while (begun < SESSIONS) {
      const turn = ++begun;
      if (!await initialize(target)) failed++;
      if (turn % (SESSIONS / 5) === 0) {
        figures[`rssMibAfter${turn}`] = await residentMib(gateway);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  figures["seconds"] = Math.round((performance.now() - startedAt) / 1000);
  figures["failed"] = failed;
  figures["openAtServer"] = open.size;
  const { result } = await callModern(target, "tools/call", {
    name: "echo",
    arguments: {},
  });
  figures["callsAfter"] = result?.content?.[0]?.text === "ok" ? 1 : 0;
  return [{
    drill: `${SESSIONS} abandoned sessions`,
    figures,
    isKept: failed === 0 && open.size <= MAX_OPEN &&
      figures["callsAfter"] === 1,
  }];
}

/** Kills the replica that has a call whose user is asked: it has its effect once, or the client learns that it is lost. */
export async function killedReplicas(): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const era of ["modern", "legacy"] as const) {
    const outcomes: Record<string, number> = {};
    let effects = 0;
    for (let turn = 0; turn < KILLS; turn++) {
      const lost = await killBetweenRounds(era);
      const key = lost.outcome.slice(0, 16);
      outcomes[key] = (outcomes[key] ?? 0) + 1;
      effects += lost.effects;
    }
    findings.push({
      drill: `${KILLS} replicas killed during an elicitation, ${era} server`,
      figures: { effects, ...outcomes },
      isKept: effects === (outcomes["done"] ?? 0),
    });
  }
  return findings;
}

async function initialize(url: string): Promise<boolean> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "drill", version: "1.0.0" },
      },
    }),
  });
  await response.body?.cancel();
  return response.ok;
}

/** Responds as a server of 2025-11-25 with sessions. */
async function answer(
  request: Request,
  open: Set<string>,
): Promise<Response> {
  const session = request.headers.get("mcp-session-id") ?? "";
  if (request.method === "DELETE") {
    open.delete(session);
    return new Response();
  }
  if (request.method === "GET") return new Response(null, { status: 405 });
  const { id, method } = await request.json();
  if (id === undefined) return new Response(null, { status: 202 });
  if (method === "server/discover") {
    return new Response("no session", { status: 400 });
  }
  if (method === "initialize") {
    const begun = crypto.randomUUID();
    open.add(begun);
    const result = {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "old", version: "1.0.0" },
    };
    return Response.json({ jsonrpc: "2.0", id, result }, {
      headers: { "mcp-session-id": begun },
    });
  }
  const result = method === "tools/list"
    ? { tools: [{ name: "echo", inputSchema: { type: "object" } }] }
    : { content: [{ type: "text", text: "ok" }] };
  return Response.json({ jsonrpc: "2.0", id, result });
}
