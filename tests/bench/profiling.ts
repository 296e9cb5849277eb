import { freePort } from "../harness/process/free_port.ts";
import type { Repetition } from "./jwt.ts";
import { compare, type Comparison, load } from "./measure.ts";
import { startDeno, startGateway } from "./neighbours.ts";
import { type Row, row } from "./row.ts";

/** Measures the cost of profiles in requests per second of CPU time, which depends little on other processes. */
export async function profilingRows(
  upstreamPort: number,
  repetition: Repetition,
): Promise<Row[]> {
  const cpu = await compareCpuProfile(upstreamPort, repetition);
  const heap = await compareHeapSampling(upstreamPort, repetition);
  return [
    row(
      "CPU profile at 100 Hz / none, per CPU second",
      cpu.perCpu,
      "x",
      { atLeast: 0.85 },
      cpu.cpuMicros,
    ),
    row(
      "heap sampled / not, per CPU second",
      heap.perCpu,
      "x",
      { atLeast: 0.97 },
      heap.cpuMicros,
    ),
  ];
}

/** The default duration of a profile: its start and its end cost more than the time between them. */
const profileSeconds = 10;

/** Uses one process, so that only the profile differs. */
async function compareCpuProfile(
  upstreamPort: number,
  { rounds }: Repetition,
): Promise<Comparison> {
  const adminAddr = `127.0.0.1:${freePort()}`;
  await using gateway = await startGateway(upstreamPort, {}, { adminAddr });
  const profile = async () => {
    const path = `/debug/pprof/profile?seconds=${profileSeconds}`;
    const { ok, status, body } = await fetch(`http://${adminAddr}${path}`);
    if (!ok) throw new Error(`Cannot take a profile: ${status}`);
    await body?.cancel();
  };
  return await compare(
    () => load(gateway, profileSeconds),
    async () => {
      const [speed] = await Promise.all([
        load(gateway, profileSeconds),
        profile(),
      ]);
      return speed;
    },
    Math.min(rounds, 3),
  );
}

/** Runs from source, in one process that samples every other time. */
async function compareHeapSampling(
  upstreamPort: number,
  { rounds, seconds }: Repetition,
): Promise<Comparison> {
  const script = "sampled_gateway.ts";
  await using gateway = await startDeno(
    script,
    [String(upstreamPort)],
    "alone",
  );
  const measureNext = async () => {
    Deno.kill(gateway.pid, "SIGUSR2");
    return await load(gateway, seconds);
  };
  // Sampling is off at the start, and each signal changes that.
  await measureNext();
  return await compare(measureNext, measureNext, 4 * rounds);
}
