/** Servers of an MCP endpoint that fail, and processes of servers that come and go. */
import { GatewayProcess } from "../harness/gateway/gateway_process.ts";
import { callModern, listTools } from "../harness/mcp/modern_call.ts";
import { freePort } from "../harness/process/free_port.ts";
import { type Finding, residentMib, sleep } from "./drill.ts";

const SERVERS = 20;
const CLIENTS = 8;
/** `MCP_SECONDS=5` makes the drill shorter. */
const FAULT_SECONDS = Number(Deno.env.get("MCP_SECONDS") ?? 30);
const FLAP_MS = 500;
/** Time in which the tools of a server that is well again are listed. */
const BACK_MS = 5000;
const SLOW_MS = 4000;
const local = { hostname: "127.0.0.1", onListen: () => {} };

/** `MCP_STARTS=8000` makes the drill longer. */
const STARTS = Number(Deno.env.get("MCP_STARTS") ?? 2000);
const USERS = 200;
const AT_ONCE = 4;
const MAX_PROCESSES = 8;
const KILLED_PROCESSES = 8;
/** Appears in the command line of each process. */
const MARK = `mcp-drill-${Deno.pid}`;

/** Behaviors of the server that fails; `refused` does not listen. */
const faults = {
  refused: undefined,
  hung: () => new Promise<Response>(() => {}),
  slow: async (request: Request) => {
    await sleep(SLOW_MS);
    return await answer(request);
  },
  garbage: () => new Response("<html>It works!</html>"),
  flapping: (request: Request) =>
    Math.floor(performance.now() / FLAP_MS) % 2 === 0
      ? new Response("oops", { status: 502 })
      : answer(request),
};

/** One of 20 servers fails under load: calls to the others go on, and its tools are back soon after it is well. */
export async function failingServer(): Promise<Finding[]> {
  await using stack = new AsyncDisposableStack();
  const ports = Array.from({ length: SERVERS - 1 }, () => {
    const server = Deno.serve({ ...local, port: 0 }, answer);
    stack.adopt(server, (it) => it.shutdown());
    return server.addr.port;
  });
  const port = freePort();
  const gateway = stack.use(await startGateway([...ports, port]));
  const url = `${gateway.origin}/mcp`;
  const findings: Finding[] = [];
  for (const [fault, behave] of Object.entries(faults)) {
    let well = Deno.serve({ ...local, port }, answer);
    await untilListed(url);
    await well.shutdown();
    const broken = behave && Deno.serve({ ...local, port }, behave);
    const load = await loadOthers(url);
    // Responses that never come would keep it from shutting down.
    await Promise.race([broken?.shutdown(), sleep(100)]);
    const healedAt = performance.now();
    well = await listenAgain(port);
    await untilListed(url);
    const backMs = Math.round(performance.now() - healedAt);
    findings.push({
      drill: `1 of ${SERVERS} servers: ${fault}`,
      figures: { ...load, backMs },
      isKept: load.failed === 0 && backMs < BACK_MS,
    });
    await well.shutdown();
  }
  return findings;
}

async function listenAgain(port: number) {
  for (;;) {
    try {
      return Deno.serve({ ...local, port }, answer);
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
      await sleep(10);
    }
  }
}

/** Calls the tools of the servers that are well, and lists all tools, for a while. */
async function loadOthers(url: string) {
  const endsAt = performance.now() + 1000 * FAULT_SECONDS;
  const latencies: number[] = [];
  let failed = 0;
  let lists = 0;
  let slowestListMs = 0;
  const client = async (_: unknown, index: number) => {
    for (let turn = index; performance.now() < endsAt; turn++) {
      const began = performance.now();
      if (turn % 20 === 0) {
        const names = await listTools(url);
        if (names.length < SERVERS - 1) failed++;
        lists++;
        slowestListMs = Math.max(slowestListMs, performance.now() - began);
        continue;
      }
      const name = `s${turn % (SERVERS - 1)}_echo`;
      const call = { name, arguments: {} };
      const { result } = await callModern(url, "tools/call", call);
      if (result?.content?.[0]?.text !== "ok") failed++;
      latencies.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  latencies.sort((a, b) => a - b);
  const at = (part: number) =>
    Number((latencies[Math.floor(latencies.length * part)] ?? 0).toFixed(1));
  return {
    calls: latencies.length,
    failed,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    lists,
    slowestListMs: Math.round(slowestListMs),
  };
}

async function untilListed(url: string): Promise<void> {
  const name = `s${SERVERS - 1}_echo`;
  while (!(await listTools(url)).includes(name)) await sleep(50);
}

/** Responds as a server of 2026-07-28 with one tool. */
async function answer(request: Request): Promise<Response> {
  const { id, method } = await request.json();
  const tool = { name: "echo", inputSchema: { type: "object" } };
  const capabilities = { tools: {} };
  const result = method === "server/discover"
    ? { supportedVersions: ["2026-07-28"], capabilities }
    : method === "tools/list"
    ? { tools: [tool], ttlMs: 0, cacheScope: "public" }
    : { content: [{ type: "text", text: "ok" }] };
  return Response.json({
    jsonrpc: "2.0",
    id,
    result: { resultType: "complete", ...result },
  });
}

function startGateway(ports: readonly number[]): Promise<GatewayProcess> {
  const servers = ports.map((port, index) => ({
    name: `s${index}`,
    url: `http://127.0.0.1:${port}/mcp`,
  }));
  return GatewayProcess.start({
    config: { routes: [{ backends: [{ mcp: { servers } }] }] },
  });
}

/** A server in shell, which starts in milliseconds. */
const program = `
while read -r line; do
  id=\${line#*'"id":'} id=\${id%%[,\\}]*}
  case $line in
    *'"server/discover"'*) result= ;;
    *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"ok"}]}' ;;
    *) continue ;;
  esac
  if [ -n "$result" ]; then
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$result"
  else
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\\n' "$id"
  fi
done
`;

/** Starts two thousand processes for users who come in turns, then kills a gateway with some. */
export async function programStarts(): Promise<Finding[]> {
  const figures: Record<string, number> = {};
  {
    await using gateway = await startPrograms();
    const call = callAs(gateway.origin);
    let next = 0;
    let failed = 0;
    const began = performance.now();
    const client = async () => {
      while (next < STARTS) {
        const turn = next++;
        if (await call(turn % USERS) !== "ok") failed++;
        if (turn > 0 && turn % (STARTS / 4) === 0) {
          figures[`rssMibAfter${turn}`] = await residentMib(gateway);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
    figures["failed"] = failed;
    figures["seconds"] = Math.round((performance.now() - began) / 1000);
    figures["rssMib"] = await residentMib(gateway);
    figures["running"] = await countProcesses();
    gateway.signal("SIGTERM");
    await gateway.exitCode();
    figures["orphans"] = await countProcesses();
  }
  await using gateway = await startPrograms();
  const call = callAs(gateway.origin);
  const users = Array.from({ length: KILLED_PROCESSES }, (_, user) => user);
  await Promise.all(users.map(call));
  const running = await countProcesses();
  gateway.signal("SIGKILL");
  await gateway.exitCode();
  const killedAt = performance.now();
  let orphans = await countProcesses();
  while (orphans > 0 && performance.now() - killedAt < 5000) {
    await sleep(10);
    orphans = await countProcesses();
  }
  const goneMs = Math.round(performance.now() - killedAt);
  return [
    {
      drill: `${STARTS} starts of processes`,
      figures,
      isKept: figures["failed"] === 0 && figures["orphans"] === 0,
    },
    {
      drill: "SIGKILL of the gateway",
      figures: { running, orphans, goneMs },
      isKept: orphans === 0,
    },
  ];
}

function startPrograms(): Promise<GatewayProcess> {
  const keys = Array.from({ length: USERS }, (_, index) => ({
    key: `user-${index}`,
    metadata: { name: `user-${index}` },
  }));
  const stdio = {
    command: "sh",
    // It has no references to variables of the configuration.
    args: ["-c", program.replaceAll("${", () => "$${"), MARK],
    maxProcesses: MAX_PROCESSES,
  };
  return GatewayProcess.start({
    config: {
      routes: [{
        policies: { apiKeyAuthentication: { keys } },
        backends: [{ mcp: { servers: [{ name: "sh", stdio }] } }],
      }],
    },
  });
}

function callAs(origin: string): (user: number) => Promise<string> {
  return async (user) => {
    const { result } = await callModern(`${origin}/mcp`, "tools/call", {
      name: "echo",
      arguments: {},
    }, { headers: { authorization: `Bearer user-${user}` } });
    return result?.content?.[0]?.text ?? "no result";
  };
}

/** Counts the processes of the drill that have not ended. */
async function countProcesses(): Promise<number> {
  let count = 0;
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const read = (file: string) =>
      Deno.readTextFile(`/proc/${name}/${file}`).catch(() => "");
    const [command, stat] = [await read("cmdline"), await read("stat")];
    if (command.includes(MARK) && !/\) Z /.test(stat)) count++;
  }
  return count;
}
