import assert from "node:assert/strict";
import {
  DocumentUnavailableError,
  type DocumentVersion,
  RemoteDocument,
} from "../../../../src/identity/documents/remote_document.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const minute = 60_000;
const hour = 60 * minute;

/** Creates a document on a fake server that can be stopped and counts fetches. */
function setUp() {
  const clock = new FakeClock();
  const server = {
    up: true,
    version: 1,
    fetches: 0,
    respond: (): Promise<DocumentVersion<number>> =>
      server.up
        ? Promise.resolve({
          value: server.version,
          text: String(server.version),
          fetchedAt: clock.now(),
          freshMs: 15 * minute,
        })
        : Promise.reject(new Error("down")),
  };
  const document = new RemoteDocument<number>({
    clock,
    maxAgeMs: 24 * hour,
    coolDownMs: 10_000,
    fetch() {
      server.fetches++;
      return server.respond();
    },
  });
  return { clock, server, document };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

Deno.test("a document is fetched once for all waiting callers", async () => {
  const { server, document } = setUp();

  const values = await Promise.all([1, 2, 3].map(() => document.get()));

  assert.deepEqual(values, [1, 1, 1]);
  assert.equal(server.fetches, 1);
  assert.equal(document.get(), 1);
});

Deno.test("an old version is used while its server is down, for a day", async () => {
  const { clock, server, document } = setUp();
  await document.get();
  server.up = false;

  for (let passed = 0; passed < 23 * hour; passed += 10 * minute) {
    clock.advance(10 * minute);
    assert.equal(await document.get(), 1);
    await settle();
  }
  clock.advance(2 * hour);
  await assert.rejects(Promise.resolve(document.get()), { retryAfter: 60 });
});

Deno.test("a server that does not respond delays only the first caller after a long time", async () => {
  const { clock, server, document } = setUp();
  await document.get();
  const pending: (() => void)[] = [];
  server.respond = () =>
    new Promise((_, reject) => pending.push(() => reject(new Error("late"))));
  clock.advance(hour);

  const first = document.get();
  assert.ok(first instanceof Promise);
  pending.pop()?.();
  assert.equal(await first, 1);

  for (let passed = 0; passed < 10; passed++) {
    clock.advance(minute);
    assert.equal(document.get(), 1);
    assert.equal(document.get(), 1);
    assert.equal(pending.length, 1);
    pending.pop()?.();
    await settle();
  }
  clock.advance(hour);
  assert.ok(document.get() instanceof Promise);
  pending.pop()?.();
});

Deno.test("an unavailable server is retried after 1 s, 2 s, 4 s, and at most once a minute", async () => {
  const { clock, server, document } = setUp();
  server.up = false;
  await assert.rejects(Promise.resolve(document.get()), { retryAfter: 1 });

  const fetchesBySecond: number[] = [];
  for (let second = 1; second <= 8; second++) {
    clock.advance(1000);
    await assert.rejects(Promise.resolve(document.get()));
    fetchesBySecond.push(server.fetches);
  }
  assert.deepEqual(fetchesBySecond, [2, 2, 3, 3, 3, 3, 4, 4]);

  clock.advance(hour);
  await assert.rejects(Promise.resolve(document.get()));
  server.up = true;
  clock.advance(minute);
  assert.equal(await document.get(), 1);
});

Deno.test("ten thousand requests for a newer version fetch once per cool-down", async () => {
  const { clock, server, document } = setUp();
  const old = await document.get();
  clock.advance(1000);
  for (let i = 0; i < 10_000; i++) await document.newer(old);
  assert.equal(server.fetches, 2);

  clock.advance(10_000);
  server.version = 2;
  assert.equal(await document.newer(old), 2);
  assert.equal(await document.newer(old), 2);
  assert.equal(server.fetches, 3);
});

Deno.test("requests for a newer version are rejected while the last fetch failed, with one fetch per cool-down", async () => {
  const { clock, server, document } = setUp();
  const old = await document.get();
  server.up = false;
  clock.advance(1000);

  await assert.rejects(document.newer(old), { retryAfter: 10 });
  clock.advance(4000);
  for (let i = 0; i < 1000; i++) {
    await assert.rejects(document.newer(old), { retryAfter: 6 });
  }
  assert.equal(server.fetches, 2);
  assert.equal(document.get(), old);

  server.up = true;
  server.version = 2;
  clock.advance(6000);
  assert.equal(await document.newer(old), 2);
  assert.equal(server.fetches, 3);
});

Deno.test("after a fetch that found no newer version, the current version is returned until the cool-down ends", async () => {
  const { clock, server, document } = setUp();
  const old = await document.get();
  assert.equal(await document.newer(old), old);

  server.up = false;
  clock.advance(9000);
  assert.equal(await document.newer(old), old);
  clock.advance(1000);
  await assert.rejects(document.newer(old), DocumentUnavailableError);
});

Deno.test("within the cool-down, a version older than what is looked for proves nothing", async () => {
  const { clock, document } = setUp();
  const old = await document.get();
  await document.newer(old);
  const fetchedAt = clock.now();
  clock.advance(4000);

  assert.equal(await document.newer(old, fetchedAt), old);
  await assert.rejects(document.newer(old, fetchedAt + 1), {
    name: "DocumentUnavailableError",
    message: "fetched 4 s ago, and again in 6 s",
    retryAfter: 6,
  });
});

Deno.test("a fetch that began before the call does not prove that there is no newer version", async () => {
  const { clock, server, document } = setUp();
  const old = await document.get();
  const { promise, resolve } = Promise.withResolvers<
    DocumentVersion<number>
  >();
  server.respond = () => promise;
  const first = document.newer(old, Infinity);
  await settle();
  const startedAt = clock.now();
  clock.advance(1);
  const second = document.newer(old, Infinity);
  resolve({ value: 1, text: "1", fetchedAt: startedAt, freshMs: minute });

  assert.equal(await first, old);
  await assert.rejects(second, { retryAfter: 10 });
  assert.equal(server.fetches, 2);
});

Deno.test("refetch fetches in spite of freshness, cool-down and back-off", async () => {
  const { server, document } = setUp();
  const old = await document.get();
  await document.newer(old);
  server.version = 2;

  await document.refetch();
  assert.equal(document.get(), 2);
  server.up = false;
  await document.refetch();
  assert.equal(document.describe().lastError, "down");
  server.up = true;
  await document.refetch();

  assert.equal(document.describe().lastError, null);
  assert.equal(server.fetches, 5);
});

Deno.test("describe reports age, counts and the last error", async () => {
  const { clock, server, document } = setUp();
  await document.get();
  clock.advance(20 * minute);
  server.up = false;
  document.get();
  await settle();

  assert.deepEqual(document.describe(), {
    fetchedAt: "2026-01-01T00:00:00.000Z",
    ageSeconds: 1200,
    refreshes: 2,
    fetchingMs: null,
    failures: 1,
    lastError: "down",
    retryAt: "2026-01-01T00:20:01.000Z",
    refreshAt: "2026-01-01T00:20:01.000Z",
  });
});

Deno.test("describe reports the duration of the fetch in progress", async () => {
  const clock = new FakeClock();
  const fetched = Promise.withResolvers<DocumentVersion<number>>();
  const document = new RemoteDocument<number>({
    clock,
    maxAgeMs: hour,
    coolDownMs: 10_000,
    fetch: () => fetched.promise,
  });

  const value = document.get();
  await settle();
  clock.advance(1500);
  const during = document.describe().fetchingMs;
  fetched.resolve({
    value: 1,
    text: "1",
    fetchedAt: clock.now(),
    freshMs: minute,
  });
  await value;
  await settle();

  assert.equal(during, 1500);
  assert.equal(document.describe().fetchingMs, null);
});
