/** Measures the requests per second of `wrk` on `url` with 32 connections. */
export async function throughput(
  url: string,
  seconds: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const fields = Object.entries(headers).flatMap(([name, value]) => [
    "-H",
    `${name}: ${value}`,
  ]);
  const text = await wrk([`-d${seconds}s`, ...fields, url]);
  if (/Non-2xx/.test(text)) throw new Error(`Cannot measure "${url}": ${text}`);
  return rateIn(text);
}

/** Measures the same while every tenth request gets a 404 from the upstream. */
export async function throughputWithErrors(
  url: string,
  seconds: number,
): Promise<number> {
  const script = new URL("every_tenth_fails.lua", import.meta.url).pathname;
  const text = await wrk([`-d${seconds}s`, "-s", script, url]);
  const total = Number(/(\d+) requests in/.exec(text)?.[1]);
  const failed = Number(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1]);
  if (!(Math.abs(failed / total - 0.1) < 0.01)) {
    throw new Error(`Cannot measure "${url}" with 10 % errors: ${text}`);
  }
  return rateIn(text);
}

/**
 * Measures requests per second of a process's CPU time, which depends less on other processes than the throughput.
 * @param beside Runs concurrently in the process.
 */
export async function requestsPerCpuSecond(
  { port, pid }: { readonly port: number; readonly pid: number },
  seconds: number,
  beside = () => Promise.resolve(),
): Promise<number> {
  const before = await cpuSeconds(pid);
  const [rate] = await Promise.all([
    throughput(`http://127.0.0.1:${port}/json`, seconds),
    beside(),
  ]);
  return rate * seconds / (await cpuSeconds(pid) - before);
}

/** Reads the CPU time of all threads in user and kernel mode; see proc_pid_stat(5). */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  // The second field is the process name in parentheses, which can contain any character.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticksPerSecond = 100;
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

async function wrk(args: readonly string[]): Promise<string> {
  const { stdout } = await new Deno.Command("wrk", {
    args: ["-t1", "-c32", ...args],
  }).output();
  return new TextDecoder().decode(stdout);
}

function rateIn(text: string): number {
  const rate = /Requests\/sec:\s+([\d.]+)/.exec(text)?.[1];
  if (/Socket errors/.test(text) || rate === undefined) {
    throw new Error(`Cannot measure: ${text}`);
  }
  return Number(rate);
}

/** Returns the median of `other / base`; both alternate because the speed of the machine varies. */
export async function compare(
  base: () => Promise<number>,
  other: () => Promise<number>,
  rounds: number,
): Promise<number> {
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const rate = await base();
    ratios.push(await other() / rate);
  }
  return median(ratios);
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
