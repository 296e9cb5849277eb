import { freePort } from "../harness/free_port.ts";
import type { Repetition } from "./jwt.ts";
import { compare, throughput, throughputWithErrors } from "./measure.ts";
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
      memory,
      "x",
      ">= 0.95",
      memory >= 0.95,
    ),
    row(
      "a watcher whose filter never matches / none",
      watcher,
      "x",
      ">= 0.85",
      watcher >= 0.85,
    ),
  ];
}

async function compareMemory(
  upstreamPort: number,
  { rounds, seconds }: Repetition,
): Promise<number> {
  const settings = { failureMemory: { enabled: false } };
  await using without = await startGateway(upstreamPort, {}, settings);
  await using remembering = await startGateway(upstreamPort);
  const measure = ({ port }: { readonly port: number }) =>
    throughputWithErrors(`http://127.0.0.1:${port}`, seconds);
  return await compare(
    () => measure(without),
    () => measure(remembering),
    rounds,
  );
}

/** Uses one process, so that only the watcher differs. */
async function compareWatcher(
  upstreamPort: number,
  { rounds, seconds }: Repetition,
): Promise<number> {
  const adminAddr = `127.0.0.1:${freePort()}`;
  await using gateway = await startGateway(upstreamPort, {}, { adminAddr });
  const url = `http://127.0.0.1:${gateway.port}/json`;
  return await compare(
    () => throughput(url, seconds),
    async () => {
      const watcher = await watchForNever(adminAddr);
      const rate = await throughput(url, seconds);
      await watcher.cancel();
      return rate;
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
