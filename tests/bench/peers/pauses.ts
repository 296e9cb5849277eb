import { engineFlags } from "../../../.ci/pack.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { load, percentile } from "../measure.ts";
import { pinning, untilListening } from "../neighbours.ts";
import { chat } from "../requests.ts";

/** Pauses of the gateway while V8 collected garbage, in milliseconds. */
export interface Pauses {
  readonly p50: number;
  readonly p99: number;
}

/**
 * Measures the pauses of the gateway's garbage collection under full load: GET, then POST of 1 KiB whose tokens are counted. It runs
 * from source, as V8 reports its pauses only with a flag that the executable does not have.
 * @throws {Error} If V8 reported no pause.
 */
export async function measurePauses(
  upstreamPort: number,
  seconds: number,
): Promise<Pauses> {
  const port = freePort();
  await using gateway = await startTraced(upstreamPort, port);
  const target = { port, pid: gateway.pid };
  // The code of the path is compiled by then.
  await load(target, seconds);
  const begin = gateway.output().length;
  await load(target, seconds);
  await load(target, seconds, {
    path: "/v1/chat/completions",
    body: chat(1024),
  });
  const pauses = pausesOf(gateway.output().slice(begin));
  if (pauses.length === 0) throw new Error("V8 reported no pause");
  return { p50: percentile(pauses, 0.5), p99: percentile(pauses, 0.99) };
}

interface TracedGateway extends AsyncDisposable {
  readonly pid: number;
  /** Returns what V8 has printed so far. */
  output(): string;
}

async function startTraced(
  upstreamPort: number,
  port: number,
): Promise<TracedGateway> {
  const file = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      config: { adminAddr: "off", statsAddr: "off", workers: 1 },
      gateways: { default: { port } },
      routes: [{ backends: [{ host: `127.0.0.1:${upstreamPort}` }] }],
    }),
  );
  const main = new URL("../../../main.ts", import.meta.url).pathname;
  const flags = engineFlags.map((flag) => `${flag},--trace-gc`);
  const [executable = "", ...args] = [
    ...await pinning("alone"),
    Deno.execPath(),
    ...["run", "-A", "--no-check", ...flags, main, "-f", file],
  ];
  const process = new Deno.Command(executable, {
    args,
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let text = "";
  const reading = process.stdout.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write: (part) => {
        text += part;
      },
    }),
  );
  await untilListening(port);
  return {
    pid: process.pid,
    output: () => text,
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await Promise.all([process.status, reading]);
    },
  };
}

/**
 * Reads the pauses from V8's report, shortest first: `Scavenge 30.4 (43.0) -> 25.4 (43.0) MB, …, 2.03 / 0.01 ms`, or of a collection in steps
 * `Mark-Compact …, 2.66 / 0.03 ms (+ 58.2 ms in 111 steps since start of marking, biggest step 1.5 ms, …)`, whose steps are pauses, too.
 */
function pausesOf(report: string): number[] {
  const pauses: number[] = [];
  for (const line of report.split("\n")) {
    const pause = / MB, .*?([\d.]+) \/ [\d.]+ ms/.exec(line)?.[1];
    if (pause !== undefined) pauses.push(Number(pause));
    const step = /biggest step ([\d.]+) ms/.exec(line)?.[1];
    if (step !== undefined) pauses.push(Number(step));
  }
  return pauses.sort((a, b) => a - b);
}
