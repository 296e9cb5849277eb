import type { Repetition } from "./jwt.ts";
import {
  compare,
  type Comparison,
  load,
  type Requests,
  type Speed,
} from "./measure.ts";
import { type Neighbour, startDeno, startGatewayWith } from "./neighbours.ts";
import { startLeader } from "./peers/leader.ts";
import { type Row, row } from "./row.ts";

const FEW = 3;
const MANY = 20;
const TOOLS = 10;
/** Processes of each, of which the middle one counts. */
const STARTS = 5;
/** Enough for V8 to optimize the path. */
const WARM_UP_REQUESTS = 60_000;
/** Slow paths are optimized before they have as many requests. */
const WARM_UP_SECONDS = 20;
const PREFIX = "io.modelcontextprotocol";

type Era = "modern" | "legacy";

/** A process and the requests that it gets. */
interface Contender {
  readonly target: Neighbour;
  readonly requests: Requests;
}

/** Compares several MCP servers behind one endpoint with a route to one of them, and with agentgateway where it takes part. */
export async function* mcpRows(repetition: Repetition): AsyncGenerator<Row> {
  await using upstream = await startDeno("mcp_upstream.ts", [], "beside");
  for (const era of ["modern", "legacy"] as const) {
    yield await callRow(upstream, era, repetition);
  }
  yield* listRows(upstream, repetition);
}

/** Compares several processes of each: V8 compiles the same program for each of them, and some are a tenth slower than others. */
async function callRow(
  upstream: Neighbour,
  era: Era,
  { rounds, seconds }: Repetition,
): Promise<Row> {
  const runs: Comparison[] = [];
  while (runs.length < STARTS) {
    runs.push(
      await compareCalls(upstream, era, {
        rounds: Math.ceil(rounds / STARTS),
        seconds,
      }),
    );
  }
  const { perCpu, cpuMicros, instructions } = middleOf(runs);
  const what = `tools/call, ${era}, ${FEW} servers / plain route`;
  return row(what, perCpu, "x", { atLeast: 0.8 }, cpuMicros, instructions);
}

async function compareCalls(
  upstream: Neighbour,
  era: Era,
  { rounds, seconds }: Repetition,
): Promise<Comparison> {
  const path = `/${era}/${TOOLS}`;
  await using plain = await startPlain(upstream);
  await using federating = await startFederating(upstream, path, FEW);
  return await compareContenders(
    { target: plain, requests: await callOf(plain, path, era, "tool_1") },
    {
      target: federating,
      requests: await callOf(federating, "/mcp", era, "s1_tool_1"),
    },
    rounds,
    seconds,
  );
}

function middleOf([first, ...others]: readonly Comparison[]): Comparison {
  if (first === undefined) throw new Error("Nothing was compared");
  const runs = [first, ...others].toSorted((a, b) => a.perCpu - b.perCpu);
  return runs[runs.length >> 1] ?? first;
}

async function* listRows(
  upstream: Neighbour,
  { rounds, seconds }: Repetition,
): AsyncGenerator<Row> {
  const path = `/legacy/${TOOLS}`;
  await using federating = await startFederating(upstream, path, MANY);
  const own = {
    target: federating,
    requests: await listOf(federating, "/mcp"),
  };
  {
    const all = `/legacy/${MANY * TOOLS}`;
    await using plain = await startPlain(upstream);
    const { perCpu, cpuMicros, instructions } = await compareContenders(
      { target: plain, requests: await listOf(plain, all) },
      own,
      rounds,
      seconds,
    );
    const what = `tools/list, ${MANY} servers / plain route to all tools`;
    yield row(what, perCpu, "x", undefined, cpuMicros, instructions);
  }
  const targets = serversOf(upstream, path, MANY)
    .map(({ name, url }) => ({ name, mcp: { host: url } }));
  await using leader = await startLeader(upstream.port, undefined, {
    backends: [{ mcp: { targets } }],
  });
  if (leader === undefined) return;
  const { perCpu, cpuMicros, instructions } = await compareContenders(
    { target: leader, requests: await listOf(leader, "/mcp") },
    own,
    rounds,
    seconds,
  );
  const what = `tools/list, ${MANY} servers: gateway / agentgateway`;
  yield row(what, perCpu, "x", { atLeast: 1 }, cpuMicros, instructions);
}

/** Compares two processes, which it warms up first. */
export async function compareContenders(
  base: Contender,
  other: Contender,
  rounds: number,
  seconds: number,
) {
  for (const { target, requests } of [base, other]) {
    let sent = 0;
    for (let left = WARM_UP_SECONDS; left > 0; left--) {
      sent += (await load(target, 1, requests)).rate;
      if (sent >= WARM_UP_REQUESTS) break;
    }
  }
  const measure = ({ target, requests }: Contender): Promise<Speed> =>
    load(target, seconds, requests);
  return await compare(() => measure(base), () => measure(other), rounds);
}

function startPlain({ port }: Neighbour): Promise<Neighbour> {
  const backends = [{ host: `127.0.0.1:${port}` }];
  return startGatewayWith({ routes: [{ name: "plain", backends }] });
}

function startFederating(
  upstream: Neighbour,
  path: string,
  count: number,
): Promise<Neighbour> {
  const servers = serversOf(upstream, path, count);
  const backends = [{ mcp: { servers } }];
  return startGatewayWith({ routes: [{ name: "mcp", backends }] });
}

function serversOf({ port }: Neighbour, path: string, count: number) {
  const url = `http://127.0.0.1:${port}${path}`;
  return Array.from({ length: count }, (_, index) => ({
    name: `s${index}`,
    url,
  }));
}

/** Returns a call of a tool in the requests of an era. */
export function callOf(
  target: Neighbour,
  path: string,
  era: Era,
  name: string,
): Promise<Requests> {
  const args = { query: "some words", limit: 10 };
  const params = { name, arguments: args };
  return era === "legacy"
    ? inSession(target, path, "tools/call", params)
    : Promise.resolve({
      path,
      isCall: true,
      headers: {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
      },
      body: message("tools/call", {
        ...params,
        _meta: {
          [`${PREFIX}/protocolVersion`]: "2026-07-28",
          [`${PREFIX}/clientInfo`]: { name: "bench", version: "1.0.0" },
          [`${PREFIX}/clientCapabilities`]: {},
        },
      }),
    });
}

function listOf(target: Neighbour, path: string): Promise<Requests> {
  return inSession(target, path, "tools/list", {});
}

/** Returns requests in a session that has begun. */
async function inSession(
  { port }: Neighbour,
  path: string,
  method: string,
  params: unknown,
): Promise<Requests> {
  const accept = "application/json, text/event-stream";
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { accept, "content-type": "application/json" },
    body: message("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "bench", version: "1.0.0" },
    }),
  });
  await response.body?.cancel();
  const session = response.headers.get("mcp-session-id") ?? "";
  return {
    path,
    isCall: true,
    headers: {
      accept,
      "mcp-session-id": session,
      "mcp-protocol-version": "2025-11-25",
    },
    body: message(method, params),
  };
}

function message(method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
}
