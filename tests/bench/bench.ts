// `make bench` compares the gateway with other proxies. All variants alternate in one run, because only ratios are comparable.
// Arguments choose groups of rows, such as `get post`; `make bench ARGS=post`.
import { backendRows } from "./backends.ts";
import { getRows, httpsRows, postRows } from "./requests.ts";
import { jwtRows } from "./jwt.ts";
import { keyRows } from "./keys.ts";
import { limitRows } from "./limits.ts";
import { mcpRows } from "./mcp.ts";
import {
  churnConnections,
  eventDelays,
  median,
  openLoopLatencies,
  percentile,
  residentMiB,
} from "./measure.ts";
import {
  gatewayCommand,
  startEventUpstream,
  startGateway,
} from "./neighbours.ts";
import { startUpstream } from "./nginx.ts";
import { observationRows } from "./observation.ts";
import { profilingRows } from "./profiling.ts";
import { reloadRows } from "./reload.ts";
import { formatRow, type Row, row } from "./row.ts";
import { tokenRows } from "./tokens.ts";
import { translationRows } from "./translation.ts";
import { vaultRows } from "./vault.ts";

const ROUNDS = Number(Deno.env.get("BENCH_ROUNDS") ?? 7);
const SECONDS = Number(Deno.env.get("BENCH_SECONDS") ?? 1);
const RESULT_FILE = Deno.env.get("BENCH_FILE") ?? "dist/bench.json";
const repetition = { rounds: ROUNDS, seconds: SECONDS };

type Rows = AsyncIterable<Row> | Promise<readonly Row[]>;

/** Groups of rows, by the name that chooses them. */
const groups: Readonly<Record<string, (upstreamPort: number) => Rows>> = {
  memory: memoryRows,
  get: (port) => getRows(port, repetition),
  post: (port) => postRows(port, repetition),
  https: (port) => httpsRows(port, repetition),
  latency: latencyRows,
  events: eventRows,
  jwt: (port) => jwtRows(port, repetition),
  keys: (port) => keyRows(port, repetition),
  backends: (port) => backendRows(port, repetition),
  limits: (port) => limitRows(port, repetition),
  observation: (port) => observationRows(port, repetition),
  tokens: () => tokenRows(ROUNDS),
  translation: () => translationRows(repetition),
  mcp: () => mcpRows(repetition),
  vault: () => vaultRows(repetition),
  profiling: (port) => profilingRows(port, repetition),
  reload: (port) => reloadRows(port, repetition),
  start: startUpRows,
};

async function latencyRows(upstreamPort: number): Promise<Row[]> {
  await using gateway = await startGateway(upstreamPort);
  const measure = (port: number) =>
    openLoopLatencies(`http://127.0.0.1:${port}/json`, 1000, SECONDS);
  await measure(gateway.port);
  const added = { p50: [] as number[], p99: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    const direct = await measure(upstreamPort);
    const relayed = await measure(gateway.port);
    added.p50.push(percentile(relayed, 0.5) - percentile(direct, 0.5));
    added.p99.push(percentile(relayed, 0.99) - percentile(direct, 0.99));
  }
  const p50 = median(added.p50);
  const p99 = median(added.p99);
  return [
    row("added latency at 1000/s, p50", p50, "ms", { atMost: 0.15 }),
    row("added latency at 1000/s, p99", p99, "ms", { atMost: 0.5 }),
  ];
}

async function eventRows(): Promise<Row[]> {
  await using upstream = await startEventUpstream();
  await using gateway = await startGateway(upstream.port);
  const added: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const direct = await eventDelays(`http://127.0.0.1:${upstream.port}/`, 10);
    const relayed = await eventDelays(`http://127.0.0.1:${gateway.port}/`, 10);
    added.push(percentile(relayed, 0.5) - percentile(direct, 0.5));
  }
  const value = median(added);
  return [row("added time per event, p50", value, "ms", { atMost: 0.3 })];
}

async function memoryRows(upstreamPort: number): Promise<Row[]> {
  await using gateway = await startGateway(upstreamPort);
  const idle = await residentMiB(gateway.pid);
  await churnConnections(gateway.port, 10_000);
  const before = await residentMiB(gateway.pid);
  await churnConnections(gateway.port, 10_000);
  const after = await residentMiB(gateway.pid);
  return [
    row("memory when idle", idle, "MiB", { atMost: 90 }),
    row("memory after 10 000 connections", before, "MiB", undefined),
    row("after 10 000 more / before", after / before, "x", { atMost: 1.3 }),
  ];
}

async function startUpRows(upstreamPort: number): Promise<Row[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now();
    await using _gateway = await startGateway(upstreamPort);
    times.push(performance.now() - startedAt);
  }
  const value = median(times);
  const atMost = Deno.env.has("GATEWAY_BIN") ? 250 : 150;
  return [row("start to listening", value, "ms", { atMost })];
}

function print(text: string): Promise<number> {
  return Deno.stdout.write(new TextEncoder().encode(text + "\n"));
}

/** @throws {TypeError} For an argument that is no group. */
function chosenGroups(): [string, (upstreamPort: number) => Rows][] {
  for (const name of Deno.args) {
    if (Object.hasOwn(groups, name)) continue;
    const known = Object.keys(groups).join(", ");
    throw new TypeError(`No rows "${name}"; there are ${known}`);
  }
  const all = Object.entries(groups);
  return Deno.args.length === 0
    ? all
    : all.filter(([name]) => Deno.args.includes(name));
}

async function main(): Promise<void> {
  const chosen = chosenGroups();
  await print(`${gatewayCommand()[0]}: ${ROUNDS} rounds of ${SECONDS} s, medians
gateway / another proxy: requests per second of CPU time
`);
  await using upstream = await startUpstream();
  const rows: Row[] = [];
  for (const [, measure] of chosen) {
    for await (const each of await measure(upstream.port)) {
      rows.push(each);
      await print(formatRow(each));
    }
  }
  await Deno.mkdir("dist", { recursive: true });
  await Deno.writeTextFile(RESULT_FILE, JSON.stringify({ rows }, undefined, 2));
}

await main();
