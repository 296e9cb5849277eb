import { freePort } from "../harness/process/free_port.ts";
import type { Repetition } from "./jwt.ts";
import { compare, type Comparison, load } from "./measure.ts";
import { startGateway } from "./neighbours.ts";
import { type Row, row } from "./row.ts";

/** Measures the cost of recording failures, and of a watcher whose filter never matches. */
export async function observationRows(
  upstreamPort: number,
  repetition: Repetition,
): Promise<Row[]> {
  const memory = await compareMemory(upstreamPort, repetition);
  const watcher = await compareWatcher(upstreamPort, repetition);
  return [
    row(
      "10 % errors: failures remembered / not",
      memory.rate,
      "x",
      { atLeast: 0.95 },
      memory.cpuMicros,
    ),
    row(
      "a watcher whose filter never matches / none",
      watcher.rate,
      "x",
      { atLeast: 0.85 },
      watcher.cpuMicros,
    ),
  ];
}

async function compareMemory(
  upstreamPort: number,
  { rounds, seconds }: Repetition,
): Promise<Comparison> {
  const settings = { failureMemory: { enabled: false } };
  await using without = await startGateway(upstreamPort, {}, settings);
  await using remembering = await startGateway(upstreamPort);
  const someFail = true;
  return await compare(
    () => load(without, seconds, { someFail }),
    () => load(remembering, seconds, { someFail }),
    rounds,
  );
}

/** Uses one process, so that only the watcher differs. */
async function compareWatcher(
  upstreamPort: number,
  { rounds, seconds }: Repetition,
): Promise<Comparison> {
  const adminAddr = `127.0.0.1:${freePort()}`;
  await using gateway = await startGateway(upstreamPort, {}, { adminAddr });
  return await compare(
    () => load(gateway, seconds),
    async () => {
      const watcher = await watchForNever(adminAddr);
      const speed = await load(gateway, seconds);
      await watcher.cancel();
      return speed;
    },
    rounds,
  );
}

/** Starts a watcher; resolves once it waits. */
async function watchForNever(
  adminAddr: string,
): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const filter = encodeURIComponent("request.path == '/never'");
  const { ok, status, body } = await fetch(
    `http://${adminAddr}/debug/trace?filter=${filter}`,
  );
  if (!ok || body === null) throw new Error(`Cannot watch: ${status}`);
  const reader = body.getReader();
  await reader.read();
  return reader;
}
