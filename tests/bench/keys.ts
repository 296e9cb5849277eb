import { freePort } from "../harness/process/free_port.ts";
import type { Repetition } from "./jwt.ts";
import { compare, load } from "./measure.ts";
import { startGateway } from "./neighbours.ts";
import { type Row, row } from "./row.ts";

const fileKey = "gk_0123456789abcdef0123456789abcdef0123456789a";

/** Until both have compiled what requests run: the one that began later would seem slower. */
const WARM_UP_SECONDS = 3;

/** Compares a key of the store with one of the file. */
export async function keyRows(
  upstreamPort: number,
  { rounds, seconds }: Repetition,
): Promise<Row[]> {
  const folder = await Deno.makeTempDir();
  try {
    const adminAddr = `127.0.0.1:${freePort()}`;
    // They differ in the kind of the key only: both have a store, an admin server, and a name for the client.
    await using listed = await startGateway(
      upstreamPort,
      {
        apiKeyAuthentication: {
          keys: [{ key: fileKey, metadata: { name: "bench" } }],
        },
      },
      {
        adminAddr: `127.0.0.1:${freePort()}`,
        kv: { path: `${folder}/none.db` },
      },
    );
    await using stored = await startGateway(
      upstreamPort,
      { apiKeyAuthentication: { stored: true } },
      { adminAddr, kv: { path: `${folder}/keys.db` } },
    );
    const storedKey = await createKey(adminAddr);
    const measure = (gateway: typeof listed, key: string, time = seconds) =>
      load(gateway, time, { headers: { "x-api-key": key } });
    await measure(listed, fileKey, WARM_UP_SECONDS);
    await measure(stored, storedKey, WARM_UP_SECONDS);
    const { rate, cpuMicros, instructions } = await compare(
      () => measure(listed, fileKey),
      () => measure(stored, storedKey),
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
