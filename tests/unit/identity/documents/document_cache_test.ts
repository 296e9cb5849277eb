import assert from "node:assert/strict";
import { KvDocumentCache } from "../../../../src/identity/documents/document_cache.ts";
import { PatientClock } from "../../../harness/time/patient_clock.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { RedisServer } from "../../../harness/servers/redis_server.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";

const keys = { text: '{"keys":[]}', fetchedAt: 1, freshMs: 60_000 };

function openCache(store: string) {
  const log = new RecordedLog();
  const clock = new FakeClock();
  const cache = new KvDocumentCache({ store, clock, log });
  return { cache, log, clock };
}

Deno.test("KvDocumentCache returns the keys of the previous process", async () => {
  const directory = await Deno.makeTempDir();
  const before = openCache(`${directory}/keys.sqlite`);
  await before.cache.save("jwks", "https://idp/jwks.json", keys);
  await before.cache.close();

  const after = openCache(`${directory}/keys.sqlite`);
  const loaded = await after.cache.load("jwks", "https://idp/jwks.json");
  const other = await after.cache.load("jwks", "https://other/jwks.json");
  const metadata = await after.cache.load("metadata", "https://idp/jwks.json");
  await after.cache.close();

  assert.deepEqual(loaded, keys);
  assert.equal(other, undefined);
  assert.equal(metadata, undefined);
  assert.deepEqual([...before.log.lines, ...after.log.lines], []);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("KvDocumentCache finishes saving before it closes", async () => {
  const directory = await Deno.makeTempDir();
  const before = openCache(`${directory}/keys.sqlite`);
  const saved = before.cache.save("jwks", "https://idp/jwks.json", keys);
  await before.cache.close();
  await saved;

  const after = openCache(`${directory}/keys.sqlite`);
  const loaded = await after.cache.load("jwks", "https://idp/jwks.json");
  await after.cache.close();

  assert.deepEqual(loaded, keys);
  assert.deepEqual(before.log.lines, []);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("KvDocumentCache works without a store when it is corrupt", async () => {
  const directory = await Deno.makeTempDir();
  await Deno.writeTextFile(
    `${directory}/keys.sqlite`,
    "no database ".repeat(999),
  );
  const { cache, log } = openCache(`${directory}/keys.sqlite`);

  await cache.save("jwks", "https://idp/jwks.json", keys);
  const loaded = await cache.load("jwks", "https://idp/jwks.json");
  await cache.close();

  assert.equal(loaded, undefined);
  assert(
    log.messages("warn").includes("Cannot read the cache of keys and metadata"),
  );
  await Deno.remove(directory, { recursive: true });
});

Deno.test("KvDocumentCache works without a store when it cannot be created", async () => {
  const { cache, log } = openCache("/nonexistent/keys.sqlite");

  const loaded = await cache.load("jwks", "https://idp/jwks.json");
  await cache.close();

  assert.equal(loaded, undefined);
  assert.deepEqual(log.messages("warn"), [
    "Cannot read the cache of keys and metadata",
  ]);
});

Deno.test("KvDocumentCache returns the keys of the previous process from Redis, also after Redis was away", async () => {
  await using redis = await RedisServer.start();
  const before = openCache(redis.url);
  await before.cache.save("jwks", "https://idp/jwks.json", keys);
  const newer = { ...keys, fetchedAt: 2 };
  await before.cache.save("jwks", "https://idp/jwks.json", newer);
  await before.cache.close();
  const { cache, log, clock } = openCache(redis.url);
  await redis.kill();
  assert.equal(await cache.load("jwks", "https://idp/jwks.json"), undefined);
  assert.equal(log.messages("warn").length, 1);
  await redis.restart();
  clock.advance(1000);

  assert.deepEqual(await cache.load("jwks", "https://idp/jwks.json"), newer);
  await cache.close();
});

Deno.test("KvDocumentCache waits for a file that another process has locked", async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/keys.sqlite`;
  const opened = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const log = new RecordedLog();
      const clock = new PatientClock();
      const cache = new KvDocumentCache({ store: path, clock, log });
      await cache.save("jwks", "https://idp/jwks.json", keys);
      const loaded = await cache.load("jwks", "https://idp/jwks.json");
      await cache.close();
      return { loaded, log: log.lines };
    }),
  );

  for (const { loaded, log } of opened) {
    assert.deepEqual(loaded, keys);
    assert.deepEqual(log, []);
  }
  await Deno.remove(directory, { recursive: true });
});
