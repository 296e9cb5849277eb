import assert from "node:assert/strict";
import {
  MemoryGrantStore,
  withClientErrors,
} from "../../../../src/identity/oauth/grants/grant_store.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const clock = new FakeClock();
const later = clock.now() + 60_000;

Deno.test("a code that was released can be used again, once", async () => {
  const store = new MemoryGrantStore(clock);

  assert.equal(await store.spend("code", later), true);
  await store.release("code");

  assert.equal(await store.spend("code", later), true);
  assert.equal(await store.spend("code", later), false);
});

Deno.test("a store that is full tells clients to come back, and rejects no code that was used before", async () => {
  const store = withClientErrors(new MemoryGrantStore(clock));
  for (let code = 0; code < 50_000; code++) {
    await store.spend(String(code), later);
  }

  await assert.rejects(store.spend("one more", later), {
    code: "temporarily_unavailable",
    retryAfter: 2,
    message: /50000 codes/,
  });
  assert.equal(await store.spend("7", later), false);
});

Deno.test("a refresh token may be repeated for a minute, until its successor is used", async () => {
  const clock = new FakeClock();
  const store = new MemoryGrantStore(clock);

  assert.equal(await store.useToken("grant", 0), "first");
  clock.advance(59_000);
  assert.equal(await store.useToken("grant", 0), "repeated");
  clock.advance(2_000);
  assert.equal(await store.useToken("grant", 0), "reused");
  assert.equal(await store.useToken("grant", 1), "first");
  assert.equal(await store.useToken("grant", 0), "reused");
  await store.releaseToken("grant", 1);
  assert.equal(await store.useToken("grant", 1), "first");
});
