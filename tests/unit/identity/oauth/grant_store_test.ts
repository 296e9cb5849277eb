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
