import assert from "node:assert/strict";
import { tokensUsed } from "../../harness/login/tokens_used.ts";
import type { KvHandle } from "../../../src/kv/kv_handle.ts";
import { openKv } from "../../../src/kv/open_kv.ts";
import { KvLimiter } from "../../../src/ratelimit/kv/kv_limiter.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { KvFleet, useOf } from "./kv_fleet.ts";

/** Opens a fleet over a store in memory with faults. */
async function faulty(
  wrap: (kv: KvHandle) => Partial<KvHandle>,
): Promise<{ fleet: KvFleet } & AsyncDisposable> {
  const fleet = await KvFleet.open(2, {}, { wrap });
  return {
    fleet,
    [Symbol.asyncDispose]: () => fleet[Symbol.asyncDispose](),
  };
}

Deno.test("KvLimiter retries while the file is locked", async () => {
  let tries = 0;
  await using store = await faulty((kv) => ({
    replace(key, version, next) {
      const isLocked = ++tries % 3 !== 0;
      return isLocked
        ? Promise.reject(new TypeError("database is locked"))
        : kv.replace(key, version, next);
    },
  }));

  const admitted = await store.fleet.admit([useOf({ base: 20 })], 30);

  assert.equal(admitted, 20);
  const { locked = 0, failed } = store.fleet.first.exchanges.exchanges;
  assert(locked > 0);
  assert.equal(failed, 0);
});

Deno.test("KvLimiter fails while the store is broken and recovers by itself", async () => {
  let isBroken = true;
  await using store = await faulty((kv) => ({
    read: (key) =>
      isBroken ? Promise.reject(new Error("disk I/O error")) : kv.read(key),
  }));
  const { fleet } = store;
  const uses = [useOf({})];

  const waited = await fleet.until(fleet.first.admit(uses));
  const atOnce = fleet.first.admit(uses);
  assert(waited.verdict === "failed");
  assert.match(String(waited.error), /disk I\/O error/);
  assert("verdict" in atOnce && atOnce.verdict === "failed");
  assert.match(String(fleet.first.storeError), /disk I\/O error/);

  isBroken = false;
  fleet.clock.advance(1000);

  assert.equal(await fleet.admit(uses, 20), 10);
  assert.equal(fleet.first.storeError, undefined);
});

Deno.test("KvLimiter waits for a silent store once, not with every request", async () => {
  await using store = await faulty(() => ({
    read: () => new Promise(() => {}),
  }));
  const { fleet } = store;
  const uses = [useOf({})];

  const first = fleet.first.admit(uses);
  fleet.clock.advance(250);
  const second = fleet.first.admit(uses);

  assert.equal((await first).verdict, "failed");
  assert("verdict" in second && second.verdict === "failed");
  fleet.clock.advance(5000);
});

Deno.test("KvLimiter never returns a lease twice when a response is lost", async () => {
  let isLossy = false;
  await using store = await faulty((kv) => ({
    async replace(key, version, next) {
      const written = await kv.replace(key, version, next);
      if (isLossy) throw new Error("connection reset");
      return written;
    },
  }));
  const { fleet } = store;
  const [one, two] = fleet.limiters;
  const uses = [useOf({ base: 1000 })];
  const first = await fleet.admit(uses, 100, one);

  isLossy = true;
  await fleet.pass(300);
  isLossy = false;
  await fleet.pass(2000);
  const second = await fleet.admit(uses, 2000, two);

  assert.equal(first + second, 1000);
});

Deno.test("KvLimiter keeps debits that a broken store did not accept", async () => {
  let isBroken = false;
  await using store = await faulty((kv) => ({
    replace: (key, version, next) =>
      isBroken
        ? Promise.reject(new Error("disk full"))
        : kv.replace(key, version, next),
  }));
  const { fleet } = store;
  const [one, two] = fleet.limiters;
  const uses = [useOf({ unit: "tokens", base: 100 })];
  await fleet.admit(uses, 1, one);

  isBroken = true;
  one?.debit(uses, tokensUsed(100));
  await fleet.pass(500);
  assert.equal(await fleet.admit(uses, 1, two), 1);
  isBroken = false;
  await fleet.pass(2500);

  assert.equal(await fleet.admit(uses, 1, two), 0);
});

Deno.test("KvLimiter reports a file that is not a database", async () => {
  const path = await Deno.makeTempFile();
  await Deno.writeTextFile(path, "no database ".repeat(500));
  const limiter = new KvLimiter({
    path,
    domain: "test",
    clock: new FakeClock(),
  });
  try {
    const decision = await limiter.admit([useOf({})]);

    assert(decision.verdict === "failed");
    assert.match(String(decision.error), /file is not a database/);
  } finally {
    await limiter.close();
    await Deno.remove(path);
  }
});

for (const garbage of ["garbage", { openedAt: 1e300, used: 5 }, 7n]) {
  Deno.test(`KvLimiter reports ${typeof garbage} in place of a record, rejects for a window, and affects no other budget`, async () => {
    let isDamaged = true;
    await using store = await faulty((kv) => ({
      async read(key) {
        const { value, version } = await kv.read(key);
        return { value: isDamaged ? garbage : value, version };
      },
      replace(key, version, next) {
        isDamaged = false;
        return kv.replace(key, version, next);
      },
    }));
    const { fleet, fleet: { first } } = store;
    const uses = [useOf({})];

    const found = await fleet.until(first.admit(uses));
    const inWindow = [
      await fleet.admit(uses, 5),
      await fleet.admit(uses, 5, fleet.limiters[1]),
    ];
    const other = await fleet.admit([useOf({}, "bert")], 5);
    await fleet.pass(60_000);

    assert(found.verdict === "failed");
    assert.match(
      String(found.error),
      /Cannot read a global budget: its record is damaged and now counts as used up/,
    );
    assert.deepEqual(inWindow, [0, 0]);
    assert.equal(other, 5);
    assert.equal(await fleet.admit(uses, 20), 10);
  });
}

Deno.test("KvLimiter opens a file that another process is setting up", async () => {
  let tries = 0;
  await using fleet = await KvFleet.open(1, {
    open: () =>
      ++tries < 3
        ? Promise.reject(new TypeError("database is locked"))
        : openKv(":memory:"),
  });

  assert.equal(await fleet.admit([useOf({ base: 3 })], 5), 3);
});

/** A store that holds back reads of new keys. */
async function slowWithNewKeys() {
  const held: (() => void)[] = [];
  let isSlow = false;
  const known = new Set<string>();
  const store = await faulty((kv) => ({
    async read(key) {
      const id = key.join();
      if (isSlow && !known.has(id)) {
        await new Promise<void>((resolve) => held.push(resolve));
      }
      known.add(id);
      return await kv.read(key);
    },
  }));
  return {
    ...store,
    held,
    slowDown: () => isSlow = true,
    /** Completes the reads held back, and waits until the store wrote so many records. */
    async release(writes: number) {
      const { first } = store.fleet;
      const written = () => first.exchanges.exchanges["written"] ?? 0;
      const before = written();
      for (const answer of held.splice(0)) answer();
      while (written() < before + writes) {
        await store.fleet.rest();
      }
      await store.fleet.rest();
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

Deno.test("KvLimiter reads known budgets while any number of new keys wait", async () => {
  await using store = await slowWithNewKeys();
  const { fleet: { first, clock }, fleet } = store;
  const known = [useOf({ base: 5 })];
  await fleet.admit(known, 5);
  await fleet.pass(60_000);

  store.slowDown();
  const storm = Array.from(
    { length: 3000 },
    (_, index) => first.admit([useOf({ base: 5 }, `new-${index}`)]),
  );
  const admitted = await fleet.admit(known, 9);

  assert.equal(admitted, 5);
  assert.equal(store.held.length, 64);
  clock.advance(250);
  const verdicts = (await Promise.all(storm)).map(({ verdict }) => verdict);
  assert(verdicts.every((verdict) => verdict === "failed"));
  await store.release(64);
  // No request waits for the rest any more, so they are not read.
  assert.equal(store.held.length, 0);
  const again = first.admit([useOf({ base: 5 }, "new-2999")]);
  await fleet.rest();
  await store.release(1);
  assert.equal((await again).verdict, "admitted");
});

Deno.test("KvLimiter reads new keys in batches", async () => {
  await using store = await slowWithNewKeys();
  const { fleet } = store;
  store.slowDown();

  const storm = Array.from(
    { length: 100 },
    (_, index) => fleet.first.admit([useOf({ base: 5 }, `new-${index}`)]),
  );
  await fleet.rest();
  const batches: number[] = [];
  while (store.held.length > 0) {
    batches.push(store.held.length);
    await store.release(store.held.length);
  }

  assert.deepEqual(batches, [64, 36]);
  assert((await Promise.all(storm)).every((it) => it.verdict === "admitted"));
});

Deno.test("KvLimiter rejects new keys immediately when thousands wait", async () => {
  await using store = await slowWithNewKeys();
  const { fleet } = store;
  store.slowDown();

  const storm = Array.from(
    { length: 64 + 4096 + 1 },
    (_, index) => fleet.first.admit([useOf({ base: 5 }, `new-${index}`)]),
  );
  const last = await storm.at(-1);

  assert(last?.verdict === "failed");
  assert.match(String(last.error), /too many new keys are waiting/);
  fleet.clock.advance(250);
  await Promise.all(storm);
  await store.release(64);
});
