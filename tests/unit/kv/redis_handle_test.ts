import assert from "node:assert/strict";
import type { KvHandle } from "../../../src/kv/kv_handle.ts";
import { openKv } from "../../../src/kv/open_kv.ts";
import { RedisServer } from "../../harness/servers/redis_server.ts";

/** Runs a test with Deno KV and with Redis: both behave the same. */
function testBoth(name: string, test: (kv: KvHandle) => Promise<void>): void {
  Deno.test(`${name}, with Deno KV`, async () => {
    const kv = await openKv(":memory:");
    await test(kv);
    kv.close();
  });
  Deno.test(`${name}, with Redis`, async () => {
    await using redis = await RedisServer.start();
    const kv = await openKv(redis.url);
    await test(kv);
    kv.close();
  });
}

testBoth("an entry is replaced unless it has changed", async (kv) => {
  assert.deepEqual(await kv.read(["a"]), { value: null, version: null });
  assert.equal(await kv.replace(["a"], null, { value: 1 }), true);
  assert.equal(await kv.replace(["a"], null, { value: 2 }), false);
  const { value, version } = await kv.read(["a"]);
  assert.equal(value, 1);
  assert.equal(await kv.replace(["a"], version, { value: 3 }), true);
  assert.equal(await kv.replace(["a"], version, { value: 4 }), false);
  assert.equal((await kv.read(["a"])).value, 3);
  const { version: last } = await kv.read(["a"]);
  assert.equal(await kv.replace(["a"], last, { value: null }), true);
  assert.equal((await kv.read(["a"])).value, null);
  await kv.delete(["a"]);
  assert.deepEqual(await kv.read(["a"]), { value: null, version: null });
});

testBoth("entries are listed from a time on", async (kv) => {
  const prefix = ["usage", 1];
  for (const [time, name] of [[100, "a"], [200, "b"], [200, "c"]] as const) {
    await kv.replace([...prefix, time, name], null, {
      value: name,
      expireInMs: 60_000,
      listed: { prefix, time },
    });
  }
  await kv.replace(["usage", 2], null, { value: "other" });

  const names = async (since: number) =>
    (await kv.list(prefix, since)).map(String).toSorted();
  assert.deepEqual(await names(0), ["a", "b", "c"]);
  assert.deepEqual(await names(150), ["b", "c"]);
  assert.deepEqual(await names(300), []);
});

Deno.test("Redis keeps no list of entries that have expired", async () => {
  await using redis = await RedisServer.start();
  const kv = await openKv(redis.url);
  const write = (time: number) =>
    kv.replace(["u", time], null, {
      value: time,
      expireInMs: 1000,
      listed: { prefix: ["u"], time },
    });
  await write(1000);
  await write(1500);
  await write(2400);

  // An entry expires a second after its last write, and its place in the list at the time of the others.
  assert.deepEqual(await kv.list(["u"], 0), [1500, 2400]);
  kv.close();
});

testBoth("changes are made together, or not at all", async (kv) => {
  const listed = { prefix: ["list"], time: 5 };
  assert.equal(
    await kv.commit([
      { key: ["head"], version: null, next: { value: 1 } },
      { key: ["list", 5], next: { value: "five", listed } },
    ]),
    true,
  );
  const { version } = await kv.read(["head"]);
  assert.deepEqual(await kv.list(["list"], 0), ["five"]);
  const move = [
    { key: ["head"], version, next: { value: 2 } },
    { key: ["list", 5], listedIn: ["list"] },
    {
      key: ["list", 6],
      next: { value: "six", listed: { ...listed, time: 6 } },
    },
  ];
  assert.equal(await kv.commit(move), true);
  assert.equal(await kv.commit(move), false);
  assert.equal((await kv.read(["head"])).value, 2);
  assert.deepEqual(await kv.list(["list"], 0), ["six"]);
  await kv.commit([{
    key: ["list", 7],
    next: { value: "seven", listed: { ...listed, time: 7 } },
  }]);
  assert.deepEqual(await kv.list(["list"], 0, 1), ["six"]);
  assert.deepEqual(await kv.list(["list"], 7, 1), ["seven"]);
});
