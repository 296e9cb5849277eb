import assert from "node:assert/strict";
import { HostAddresses } from "../../../../src/proxy/balancing/host_addresses.ts";
import { limitLookups } from "../../../../src/base/wire/system_lookup.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

/** Addresses of a name whose look-ups the test answers. */
function createAddresses() {
  const clock = new FakeClock();
  const lookups: PromiseWithResolvers<readonly string[]>[] = [];
  const changes: (readonly string[])[] = [];
  const addresses = new HostAddresses({
    host: "tools.example",
    settings: { refreshMs: 30_000, timeoutMs: 5000 },
    clock,
    lookup: () => {
      const lookup = Promise.withResolvers<readonly string[]>();
      lookups.push(lookup);
      return lookup.promise;
    },
    onChange: (found) => changes.push(found),
  });
  return { addresses, clock, lookups, changes };
}

/** Lets promises that are settled have their effect. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

Deno.test("requests use addresses for 30 s, and the old ones while they are looked up again", async () => {
  const { addresses, clock, lookups, changes } = createAddresses();
  const first = addresses.use();
  lookups[0]?.resolve(["10.0.0.1"]);
  await first;

  clock.advance(29_999);
  assert.equal(addresses.use(), undefined);
  assert.equal(lookups.length, 1);
  clock.advance(1);
  assert.equal(addresses.use(), undefined);
  assert.equal(addresses.use(), undefined);
  assert.equal(lookups.length, 2);
  lookups[1]?.resolve(["10.0.0.2"]);
  await settle();

  assert.deepEqual(changes, [["10.0.0.1"], ["10.0.0.2"]]);
});

Deno.test("a failed look-up keeps the addresses, and is repeated after a second", async () => {
  const { addresses, clock, lookups, changes } = createAddresses();
  const first = addresses.use();
  lookups[0]?.resolve(["10.0.0.1"]);
  await first;

  // So old that requests wait.
  clock.advance(300_000);
  const second = addresses.use();
  lookups[1]?.reject(new Error("no server"));
  await second;

  assert.deepEqual(changes, [["10.0.0.1"]]);
  const { error, ageMs, counts } = addresses.describe();
  assert.deepEqual(
    { error, ageMs, counts },
    {
      error: "no server",
      ageMs: 300_000,
      counts: { success: 1, failure: 1 },
    },
  );
  assert.equal(addresses.use(), undefined);
  clock.advance(1000);
  const third = addresses.use();
  lookups[2]?.resolve(["10.0.0.3"]);
  await third;
  assert.deepEqual(changes.at(-1), ["10.0.0.3"]);
  assert.equal(addresses.describe().error, null);
});

Deno.test("a request without any address gets the error", async () => {
  const { addresses, lookups } = createAddresses();
  const first = addresses.use();
  lookups[0]?.resolve([]);

  await assert.rejects(async () => await first, {
    message: '"tools.example" has no address',
  });
});

Deno.test("a look-up has five seconds; it goes on, alone, and its late result counts", async () => {
  const { addresses, clock, lookups, changes } = createAddresses();
  const first = addresses.use();
  clock.advance(5000);
  await assert.rejects(async () => await first, {
    message: 'No address of "tools.example" in 5000 ms',
  });

  clock.advance(1000);
  const second = addresses.use();
  assert.equal(lookups.length, 1);
  lookups[0]?.resolve(["10.0.0.1"]);
  await second;

  assert.deepEqual(changes.at(-1), ["10.0.0.1"]);
  assert.equal(clock.pending, 0);
});

Deno.test("addresses beyond 256 are ignored, and counted", async () => {
  const { addresses, lookups, changes } = createAddresses();
  const first = addresses.use();
  lookups[0]?.resolve(
    Array.from({ length: 300 }, (_, i) => `10.0.${i >> 8}.${i & 255}`),
  );
  await first;

  assert.equal(changes[0]?.length, 256);
  assert.equal(addresses.describe().ignored, 44);
});

Deno.test("a failed connection makes the addresses due, at most once a second", async () => {
  const { addresses, clock, lookups } = createAddresses();
  const first = addresses.use();
  lookups[0]?.resolve(["10.0.0.1"]);
  await first;

  addresses.expire();
  assert.equal(addresses.use(), undefined);
  assert.equal(lookups.length, 1);
  clock.advance(1000);
  addresses.use();

  assert.equal(lookups.length, 2);
});

Deno.test("no more names are looked up at a time than the limit", async () => {
  const waiting = new Map<string, PromiseWithResolvers<readonly string[]>>();
  const lookup = limitLookups((host) => {
    const own = Promise.withResolvers<readonly string[]>();
    waiting.set(host, own);
    return own.promise;
  }, 2);
  const results = ["a", "b", "c", "d"].map(lookup);
  await settle();
  assert.deepEqual([...waiting.keys()], ["a", "b"]);

  waiting.get("a")?.reject(new Error("no"));
  await assert.rejects(async () => await results[0]);
  await settle();
  assert.deepEqual([...waiting.keys()], ["a", "b", "c"]);
  for (const host of ["b", "c"]) waiting.get(host)?.resolve([host]);
  await settle();
  waiting.get("d")?.resolve(["d"]);

  assert.deepEqual(await Promise.all(results.slice(1)), [["b"], ["c"], ["d"]]);
});
