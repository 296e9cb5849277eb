// `make bench` compares the gateway with other proxies. All variants alternate in one run, because only ratios are comparable.
import {
  churnConnections,
  compare,
  eventDelays,
  median,
  openLoopLatencies,
  percentile,
  requestsPerCpuSecond,
  residentMiB,
  throughput,
} from "./measure.ts";
import { jwtRows } from "./jwt.ts";
import { limitRows } from "./limits.ts";
import {
  gatewayCommand,
  type Neighbour,
  startEventUpstream,
  startGateway,
  startNaiveProxy,
  startNginxProxy,
  startUpstream,
} from "./neighbours.ts";
import { observationRows } from "./observation.ts";
import { profilingRows } from "./profiling.ts";
import { reloadRows } from "./reload.ts";
import { type Row, row } from "./row.ts";
import { tokenRows } from "./tokens.ts";

const ROUNDS = Number(Deno.env.get("BENCH_ROUNDS") ?? 7);
const SECONDS = Number(Deno.env.get("BENCH_SECONDS") ?? 1);
const RESULT_FILE = Deno.env.get("BENCH_FILE") ?? "dist/bench.json";
const CONTENDERS = ["direct", "nginx", "naive", "gateway"] as const;

type Contender = typeof CONTENDERS[number];
type Ports = Readonly<Record<Contender, number>>;

async function measureThroughput(
  ports: Ports,
  path: string,
): Promise<Record<Contender, number>> {
  const rates: Record<Contender, number[]> = {
    direct: [],
    nginx: [],
    naive: [],
    gateway: [],
  };
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of CONTENDERS) {
      rates[name].push(
        await throughput(`http://127.0.0.1:${ports[name]}${path}`, SECONDS),
      );
    }
  }
  return {
    direct: median(rates.direct),
    nginx: median(rates.nginx),
    naive: median(rates.naive),
    gateway: median(rates.gateway),
  };
}

function throughputRows(
  what: string,
  rates: Record<Contender, number>,
  bound: number,
): Row[] {
  const toNginx = rates.gateway / rates.nginx;
  const toNaive = rates.gateway / rates.naive;
  return [
    row(
      `${what}: gateway / nginx`,
      toNginx,
      "x",
      `>= ${bound}`,
      toNginx >= bound,
    ),
    row(`${what}: gateway / naive`, toNaive, "x", ">= 2", toNaive >= 2),
    row(
      `${what}: gateway / direct`,
      rates.gateway / rates.direct,
      "x",
      "-",
      true,
    ),
  ];
}

async function processorRows(
  gateway: Neighbour,
  naive: Neighbour,
): Promise<Row[]> {
  const ratio = await compare(
    () => requestsPerCpuSecond(naive, SECONDS),
    () => requestsPerCpuSecond(gateway, SECONDS),
    ROUNDS,
  );
  return [
    row("plain JSON: gateway / naive, per CPU second", ratio, "x", "-", true),
  ];
}

async function latencyRows(ports: Ports): Promise<Row[]> {
  const measure = (name: Contender) =>
    openLoopLatencies(`http://127.0.0.1:${ports[name]}/json`, 1000, SECONDS);
  const added = { p50: [] as number[], p99: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    const direct = await measure("direct");
    const gateway = await measure("gateway");
    added.p50.push(percentile(gateway, 0.5) - percentile(direct, 0.5));
    added.p99.push(percentile(gateway, 0.99) - percentile(direct, 0.99));
  }
  const p50 = median(added.p50);
  const p99 = median(added.p99);
  return [
    row("added latency at 1000/s, p50", p50, "ms", "<= 0.15", p50 <= 0.15),
    row("added latency at 1000/s, p99", p99, "ms", "<= 0.5", p99 <= 0.5),
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
  return [
    row("added time per event, p50", value, "ms", "<= 0.3", value <= 0.3),
  ];
}

async function memoryRows(gateway: Neighbour): Promise<Row[]> {
  const idle = await residentMiB(gateway.pid);
  await churnConnections(gateway.port, 10_000);
  const before = await residentMiB(gateway.pid);
  await churnConnections(gateway.port, 10_000);
  const after = await residentMiB(gateway.pid);
  return [
    row("memory when idle", idle, "MiB", "<= 90", idle <= 90),
    row("memory after 10 000 connections", before, "MiB", "-", true),
    row(
      "after 10 000 more / before",
      after / before,
      "x",
      "<= 1.3",
      after <= 1.3 * before,
    ),
  ];
}

async function startUpRows(): Promise<Row[]> {
  const upstreamPort = 9;
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now();
    await using _gateway = await startGateway(upstreamPort);
    times.push(performance.now() - startedAt);
  }
  const value = median(times);
  const bound = Deno.env.has("GATEWAY_BIN") ? 250 : 150;
  return [
    row("start to listening", value, "ms", `<= ${bound}`, value <= bound),
  ];
}

function print(text: string): Promise<number> {
  return Deno.stdout.write(new TextEncoder().encode(text + "\n"));
}

function formatRow({ what, value, unit, target, met }: Row): string {
  const number = `${value.toFixed(2)} ${unit}`;
  return `${what.padEnd(44)} ${number.padStart(12)}   ${target.padEnd(8)} ${
    met ? "" : "MISSED"
  }`;
}

async function main(): Promise<void> {
  await using upstream = await startUpstream();
  await using nginx = await startNginxProxy(upstream.port);
  await using naive = await startNaiveProxy(upstream.port);
  await using gateway = await startGateway(upstream.port);
  const ports: Ports = {
    direct: upstream.port,
    nginx: nginx.port,
    naive: naive.port,
    gateway: gateway.port,
  };
  const rows: Row[] = [...await memoryRows(gateway)];
  const json = await measureThroughput(ports, "/json");
  const large = await measureThroughput(ports, "/large");
  rows.push(
    ...throughputRows("plain JSON", json, 0.45),
    ...throughputRows("64 KiB body", large, 0.45),
    ...await processorRows(gateway, naive),
    ...await latencyRows(ports),
    ...await eventRows(),
    ...await jwtRows(upstream.port, { rounds: ROUNDS, seconds: SECONDS }),
    ...await limitRows(upstream.port, { rounds: ROUNDS, seconds: SECONDS }),
    ...await observationRows(upstream.port, {
      rounds: ROUNDS,
      seconds: SECONDS,
    }),
    ...await tokenRows(ROUNDS),
    ...await profilingRows(upstream.port, {
      rounds: ROUNDS,
      seconds: SECONDS,
    }),
    ...await reloadRows(upstream.port, { rounds: ROUNDS, seconds: SECONDS }),
    ...await startUpRows(),
  );
  await print(
    `${gatewayCommand()[0]}, ${ROUNDS} rounds of ${SECONDS} s, medians\n`,
  );
  for (const name of CONTENDERS) {
    await print(
      `${name.padEnd(10)} ${Math.round(json[name])} requests/s plain JSON, ${
        Math.round(large[name])
      } with 64 KiB`,
    );
  }
  await print("");
  for (const each of rows) await print(formatRow(each));
  await Deno.mkdir("dist", { recursive: true });
  await Deno.writeTextFile(
    RESULT_FILE,
    JSON.stringify({ json, large, rows }, undefined, 2),
  );
}

await main();
