import { freePort } from "../harness/process/free_port.ts";
import type { Repetition } from "./jwt.ts";
import { compare, load } from "./measure.ts";
import { startGateway } from "./neighbours.ts";
import { type Row, row } from "./row.ts";

const fileKey = "gk_0123456789abcdef0123456789abcdef0123456789a";

/** Compares a key of the store with one of the file. */
export async function keyRows(
  upstreamPort: number,
  { rounds, seconds }: Repetition,
): Promise<Row[]> {
  const folder = await Deno.makeTempDir();
  try {
    const adminAddr = `127.0.0.1:${freePort()}`;
    await using listed = await startGateway(upstreamPort, {
      apiKeyAuthentication: { keys: [{ key: fileKey }] },
    });
    await using stored = await startGateway(
      upstreamPort,
      { apiKeyAuthentication: { stored: true } },
      { adminAddr, kv: { path: `${folder}/keys.db` } },
    );
    const storedKey = await createKey(adminAddr);
    const headersOf = (key: string) => ({ "x-api-key": key });
    const { rate, cpuMicros, instructions } = await compare(
      () => load(listed, seconds, { headers: headersOf(fileKey) }),
      () => load(stored, seconds, { headers: headersOf(storedKey) }),
      rounds,
    );
    const what = "stored key / key of the file";
    return [row(what, rate, "x", { atLeast: 0.95 }, cpuMicros, instructions)];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function createKey(adminAddr: string): Promise<string> {
  const response = await fetch(`http://${adminAddr}/access/keys`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  const { secret } = await response.json();
  if (typeof secret !== "string") {
    throw new Error(`Cannot create a key: ${response.status}`);
  }
  return secret;
}
