import assert from "node:assert/strict";
import { MemoryProofStore } from "../../../../src/identity/oauth/grants/proof_store.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

Deno.test("MemoryProofStore accepts a proof once, and again when it has ended", async () => {
  const clock = new FakeClock();
  const store = new MemoryProofStore(clock);
  const until = clock.now() + 1000;

  assert.equal(await store.spend("key", "a", until), true);
  assert.equal(await store.spend("key", "a", until), false);
  assert.equal(await store.spend("other", "a", until), true);
  clock.advance(1001);
  assert.equal(await store.spend("key", "a", clock.now() + 1000), true);
});

Deno.test("a client that fills its share of MemoryProofStore leaves room for others", async () => {
  const clock = new FakeClock();
  const store = new MemoryProofStore(clock);
  const until = clock.now() + 1000;
  for (let i = 0; i < 20_000; i++) await store.spend("key", `${i}`, until);

  await assert.rejects(store.spend("key", "more", until));

  assert.equal(await store.spend("other", "a", until), true);
  clock.advance(1001);
  assert.equal(await store.spend("key", "more", clock.now() + 1000), true);
});
