import assert from "node:assert/strict";
import { KvKeyCache } from "../../../../src/identity/keys/key_cache.ts";
import { FakeClock } from "../../../harness/fake_clock.ts";
import { RecordedLog } from "../../../harness/recorded_log.ts";

const keys = { text: '{"keys":[]}', fetchedAt: 1, freshMs: 60_000 };

function openCache(store: string) {
  const log = new RecordedLog();
  const cache = new KvKeyCache({ store, clock: new FakeClock(), log });
  return { cache, log };
}

Deno.test("KvKeyCache returns the keys of the previous process", async () => {
  const directory = await Deno.makeTempDir();
  const before = openCache(`${directory}/keys.sqlite`);
  await before.cache.save("https://idp/jwks.json", keys);
  await before.cache.close();

  const after = openCache(`${directory}/keys.sqlite`);
  const loaded = await after.cache.load("https://idp/jwks.json");
  const other = await after.cache.load("https://other/jwks.json");
  await after.cache.close();

  assert.deepEqual(loaded, keys);
  assert.equal(other, undefined);
  assert.deepEqual([...before.log.lines, ...after.log.lines], []);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("KvKeyCache finishes saving before it closes", async () => {
  const directory = await Deno.makeTempDir();
  const before = openCache(`${directory}/keys.sqlite`);
  const saved = before.cache.save("https://idp/jwks.json", keys);
  await before.cache.close();
  await saved;

  const after = openCache(`${directory}/keys.sqlite`);
  const loaded = await after.cache.load("https://idp/jwks.json");
  await after.cache.close();

  assert.deepEqual(loaded, keys);
  assert.deepEqual(before.log.lines, []);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("KvKeyCache works without a store when it is corrupt", async () => {
  const directory = await Deno.makeTempDir();
  await Deno.writeTextFile(
    `${directory}/keys.sqlite`,
    "no database ".repeat(999),
  );
  const { cache, log } = openCache(`${directory}/keys.sqlite`);

  await cache.save("https://idp/jwks.json", keys);
  const loaded = await cache.load("https://idp/jwks.json");
  await cache.close();

  assert.equal(loaded, undefined);
  assert(log.messages("warn").includes("Cannot open the key cache"));
  await Deno.remove(directory, { recursive: true });
});

Deno.test("KvKeyCache works without a store when it cannot be created", async () => {
  const { cache, log } = openCache("/nonexistent/keys.sqlite");

  const loaded = await cache.load("https://idp/jwks.json");
  await cache.close();

  assert.equal(loaded, undefined);
  assert.deepEqual(log.messages("warn"), ["Cannot open the key cache"]);
});
