import assert from "node:assert/strict";
import { KeyringReader } from "../../../src/dataplane/keyring/keyring_reader.ts";
import { manyKeys } from "../../harness/keys/many_keys.ts";

Deno.test("100,000 keys take at most 60 MB, and are found", async () => {
  const { table, digestOf } = manyKeys(100_000);
  assert(table.bytes <= 60_000_000, `${table.bytes} bytes`);

  let fetches = 0;
  const reader = new KeyringReader(() =>
    fetches++ === 0
      ? Promise.resolve(table.memory)
      : Promise.reject(new Error("no further table"))
  );
  await reader.ready();
  for (const index of [0, 4711, 99_999]) {
    const caller = reader.find(digestOf(index));
    assert(caller !== undefined && caller !== "unavailable");
    assert.equal(caller.id, `key_${index}`);
    assert.equal(caller.team, `team-${index % 500}`);
  }
  assert.equal(reader.find(digestOf(100_000)), undefined);
  table.retire();
});
