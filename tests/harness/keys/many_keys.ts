import type { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { KeyringTable } from "../../../src/dataplane/keyring/keyring_table.ts";
import { openKv } from "../../../src/kv/open_kv.ts";
import type { KeyObject } from "../../../src/policy/keys/key_objects.ts";

const TEAMS = 500;

function hashOf(index: number): Buffer {
  return createHash("sha256").update(`key ${index}`).digest();
}

/** Yields the objects of 500 teams and their keys. */
function* objectsOf(count: number): Generator<KeyObject> {
  let sequence = 0;
  const common = () => ({
    sequence: ++sequence,
    createdAt: 0,
    changedAt: 0,
  });
  for (let team = 0; team < TEAMS; team++) {
    yield { ...common(), kind: "team", id: `team-${team}` };
  }
  for (let index = 0; index < count; index++) {
    const hash = hashOf(index).toString("base64url");
    yield {
      ...common(),
      ...{ kind: "key", id: `key_${index}`, team: `team-${index % TEAMS}` },
      allow: { models: ["gpt-4o*"] },
      budgets: [{ requests: 100, unit: "Minutes" }],
      metadata: { tier: "gold" },
      secrets: [{ hash, prefix: "gk_1234567", createdAt: 0 }],
    };
  }
}

/** Objects that are written to a store at once. */
const BATCH = 200;

/** Writes the keys of 500 teams to the Deno KV at `path`, as `KeyObjectStore` would one by one. */
export async function storeManyKeys(
  path: string,
  count: number,
): Promise<void> {
  const kv = await openKv(path);
  const prefix = ["keyring", 1];
  const objects = [...prefix, "objects"];
  for (const batch of batches(objectsOf(count))) {
    await kv.commit(batch.flatMap((object) => {
      const { kind, id, sequence } = object;
      return [
        { key: [...prefix, "place", kind, id], next: { value: sequence } },
        { key: [...objects, sequence], next: { value: object } },
      ];
    }));
  }
  const head = { sequence: TEAMS + count, tag: crypto.randomUUID() };
  await kv.commit([{ key: [...prefix, "head"], next: { value: head } }]);
  kv.close();
}

function* batches(objects: Iterable<KeyObject>): Generator<KeyObject[]> {
  let batch: KeyObject[] = [];
  for (const object of objects) {
    batch.push(object);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Returns a table of the keys of 500 teams, as processes have it in memory. */
export function manyKeys(count: number) {
  const table = new KeyringTable();
  for (const object of objectsOf(count)) table.set(object);
  table.setState("current");
  table.publish();
  return {
    table,
    /** Returns the digest of a key in hexadecimal. */
    digestOf: (index: number) => hashOf(index).toString("hex"),
  };
}
