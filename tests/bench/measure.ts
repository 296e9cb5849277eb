import { pinning } from "./neighbours.ts";

/** Requests that `wrk` sends; by default GET of `/json`. */
export interface Requests {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, which makes the request a POST. */
  readonly body?: string;
  /** The body is a JSON-RPC request, which gets another id each time. */
  readonly isCall?: boolean;
  /** Every tenth GET gets a 404 from the upstream. */
  readonly someFail?: boolean;
}

/** Process that receives the requests. */
export interface Target {
  readonly port: number;
  readonly pid: number;
  /** Default: `http`. */
  readonly scheme?: "http" | "https";
}

/** Speed of a process under load. */
export interface Speed {
  /** Requests per second. */
  readonly rate: number;
  /** CPU time of the process per request in microseconds, which depends less on other processes than the rate. */
  readonly cpuMicros: number;
  /** Instructions of the process per request in user mode, which do not depend on other processes; `undefined` without `perf`. */
  readonly instructions?: number | undefined;
}

/** Measures a process with 32 connections of `wrk`. */
export async function load(
  { port, pid, scheme = "http" }: Target,
  seconds: number,
  { path = "/json", headers = {}, body, isCall, someFail = false }: Requests =
    {},
): Promise<Speed> {
  const before = await cpuSeconds(pid);
  const counted = await canCount
    ? ["perf", "stat", "-x,", "-e", COUNTER, "-p", String(pid), "--"]
    : [];
  const text = await run([...counted, "wrk", "-t1", "-c32"], [
    `-d${seconds}s`,
    ...Object.entries(headers).flatMap((field) => ["-H", field.join(": ")]),
    ...(someFail ? ["-s", pathOf("every_tenth_fails.lua")] : []),
    ...(body === undefined
      ? []
      : ["-s", pathOf(isCall ? "rpc_call.lua" : "post.lua")]),
    `${scheme}://127.0.0.1:${port}${path}`,
    ...(body === undefined ? [] : ["--", body]),
  ]);
  const spent = await cpuSeconds(pid) - before;
  const total = numberIn(text, /(\d+) requests in/);
  const failed = numberIn(text, /Non-2xx or 3xx responses: (\d+)/) || 0;
  const isAsExpected = someFail
    ? Math.abs(failed / total - 0.1) < 0.01
    : failed === 0;
  if (!isAsExpected || !(total > 0) || text.includes("Socket errors")) {
    throw new Error(`Cannot measure "${path}" on port ${port}: ${text}`);
  }
  const rate = numberIn(text, /Requests\/sec:\s+([\d.]+)/);
  const count = new RegExp(`(\\d+),[^\\n]*${COUNTER}`).exec(text)?.[1];
  return {
    rate,
    cpuMicros: spent * 1e6 / total,
    instructions: count === undefined ? undefined : Number(count) / total,
  };
}

const COUNTER = "instructions:u";
const canCount = new Deno.Command("perf", {
  args: ["stat", "-e", COUNTER, "true"],
  stdout: "null",
  stderr: "piped",
}).output().then(
  ({ stderr }) => /\d\s+instructions/.test(new TextDecoder().decode(stderr)),
  () => false,
);

/** Reads the CPU time of all threads in user and kernel mode; see proc_pid_stat(5). */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  // The second field is the process name in parentheses, which can contain any character.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticksPerSecond = 100;
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Measures a process with HTTP/2 over TLS: 16 connections of `h2load` with 8 streams each. */
export async function loadHttp2(
  { port, pid }: Target,
  seconds: number,
): Promise<Speed> {
  const before = await cpuSeconds(pid);
  const text = await run(["h2load", "-c16", "-m8", `-D${seconds}`], [
    `https://127.0.0.1:${port}/json`,
  ]);
  const spent = await cpuSeconds(pid) - before;
  const total = numberIn(text, /(\d+) succeeded/);
  const failed = numberIn(text, /(\d+) failed/);
  if (!(total > 0) || failed > 0) {
    throw new Error(`Cannot measure HTTP/2 on port ${port}: ${text}`);
  }
  return { rate: total / seconds, cpuMicros: spent * 1e6 / total };
}

/** Runs a load generator beside the measured process; returns what it prints. */
async function run(
  command: readonly string[],
  options: readonly string[],
): Promise<string> {
  const [executable = "", ...args] = [
    ...await pinning("beside"),
    ...command,
    ...options,
  ];
  const { stdout, stderr } = await new Deno.Command(executable, { args })
    .output();
  const decoder = new TextDecoder();
  return `${decoder.decode(stdout)}\n${decoder.decode(stderr)}`;
}

function pathOf(script: string): string {
  return new URL(script, import.meta.url).pathname;
}

function numberIn(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1]);
}

/** Comparison of two processes; medians over all rounds. */
export interface Comparison {
  /** Requests per second, divided by those of the base. */
  readonly rate: number;
  /** Requests per second of CPU time, divided by those of the base. */
  readonly perCpu: number;
  /** CPU time per request, not of the base. */
  readonly cpuMicros: number;
  /** Instructions per request of the base and of the other; none without `perf`. */
  readonly instructions: readonly number[];
}

/** Compares `other` with `base`; both alternate because the speed of the machine varies. */
export async function compare(
  base: () => Promise<Speed>,
  other: () => Promise<Speed>,
  rounds: number,
): Promise<Comparison> {
  const bases: Speed[] = [];
  const others: Speed[] = [];
  for (let round = 0; round < rounds; round++) {
    bases.push(await base());
    others.push(await other());
  }
  return compareSpeeds(bases, others);
}

/** Compares round by round. */
export function compareSpeeds(
  bases: readonly Speed[],
  others: readonly Speed[],
): Comparison {
  const rates: number[] = [];
  const perCpu: number[] = [];
  for (const [round, { rate, cpuMicros }] of others.entries()) {
    const base = bases[round];
    if (base === undefined) {
      throw new Error("Cannot compare: a round is missing");
    }
    rates.push(rate / base.rate);
    perCpu.push(base.cpuMicros / cpuMicros);
  }
  return {
    rate: median(rates),
    perCpu: median(perCpu),
    cpuMicros: median(others.map(({ cpuMicros }) => cpuMicros)),
    instructions: [bases, others].flatMap((speeds) => {
      const counts = speeds.flatMap(({ instructions }) => instructions ?? []);
      return counts.length === 0 ? [] : [median(counts)];
    }),
  };
}

/**
 * Measures latencies of an open loop in milliseconds, ascending: requests start on time whether or not earlier ones finished.
 */
export async function openLoopLatencies(
  url: string,
  requestsPerSecond: number,
  seconds: number,
): Promise<number[]> {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 256 });
  const latencies: number[] = [];
  const pending: Promise<void>[] = [];
  const startedAt = performance.now();
  const total = requestsPerSecond * seconds;
  for (let sent = 0; sent < total;) {
    const due = Math.min(
      total,
      ((performance.now() - startedAt) / 1000) * requestsPerSecond,
    );
    for (; sent < due; sent++) {
      pending.push(
        timeRequest(url, client).then((elapsed) =>
          void latencies.push(elapsed)
        ),
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(pending);
  client.close();
  return latencies.sort((a, b) => a - b);
}

async function timeRequest(
  url: string,
  client: Deno.HttpClient,
): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(url, { client });
  await response.arrayBuffer();
  return performance.now() - startedAt;
}

/** Measures delays in milliseconds, ascending, between writing an event upstream and reading it here. */
export async function eventDelays(
  url: string,
  streams: number,
): Promise<number[]> {
  const all = await Promise.all(
    Array.from({ length: streams }, () => delaysOfStream(url)),
  );
  return all.flat().sort((a, b) => a - b);
}

async function delaysOfStream(url: string): Promise<number[]> {
  const response = await fetch(url);
  const delays: number[] = [];
  for await (const chunk of response.body ?? []) {
    const now = performance.timeOrigin + performance.now();
    for (
      const [, sentAt] of new TextDecoder().decode(chunk).matchAll(
        /data: ([\d.]+)/g,
      )
    ) {
      delays.push(now - Number(sentAt));
    }
  }
  return delays;
}

/** Returns the resident memory of a process in MiB. */
export async function residentMiB(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** Opens connections, sends one request on each, and closes all. */
export async function churnConnections(
  port: number,
  count: number,
): Promise<void> {
  const request = new TextEncoder().encode(
    "GET /json HTTP/1.1\r\nHost: localhost\r\n\r\n",
  );
  const batchSize = 500;
  for (let done = 0; done < count; done += batchSize) {
    await Promise.all(Array.from({ length: batchSize }, async () => {
      using connection = await Deno.connect({ hostname: "127.0.0.1", port });
      await connection.write(request);
      await connection.read(new Uint8Array(4096));
    }));
  }
}

/** Returns the value below which `share` (0 to 1) of the ascending values lie. */
export function percentile(
  ascending: readonly number[],
  share: number,
): number {
  return ascending[
    Math.min(ascending.length - 1, Math.floor(ascending.length * share))
  ] ?? NaN;
}

/** Returns the middle value. */
export function median(values: readonly number[]): number {
  return percentile([...values].sort((a, b) => a - b), 0.5);
}
