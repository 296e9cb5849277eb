import assert from "node:assert/strict";
import { tokensUsed } from "../../../harness/login/tokens_used.ts";
import { LocalCounterStore } from "../../../../src/ratelimit/local/local_counter_store.ts";
import {
  boundKey,
  MAX_KEYS,
} from "../../../../src/ratelimit/local/budget_table.ts";
import type { BudgetDefinition } from "../../../../src/ratelimit/budget/budget.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const place = { scope: "HTTPRoute/default/a", name: "1 request per minute" };
const definition = {
  unit: "requests",
  base: 1,
  burst: 0,
  windowMs: 60_000,
  overshoot: "Forgive",
} as const;
const tokens = { ...definition, unit: "tokens", base: 100 } as const;

function setUp(definition: BudgetDefinition, name = place.name) {
  const clock = new FakeClock();
  const store = new LocalCounterStore(clock);
  const identity = { ...place, name, words: name, isKeyed: true };
  return { clock, store, limit: store.lease().limit(identity, definition) };
}

Deno.test("every key has a budget of its own", () => {
  const { limit } = setUp(definition);
  limit.budget("anna", 0).take(0);

  assert.equal(limit.budget("anna", 0).allows(0), false);
  assert.equal(limit.budget("otto", 0).allows(0), true);
  assert.equal(limit.budget("", 0).allows(0), true);
});

Deno.test("a million keys stay within the bound; the one unused for longest is evicted and counted", () => {
  const { store, limit } = setUp(definition);
  limit.budget("kept", 0).take(0);
  limit.budget("lost", 0).take(0);
  for (let i = 0; i < 1_000_000; i++) {
    limit.budget(`key-${i}`, 0).take(0);
    if (i % 50_000 === 0) limit.budget("kept", 0).allows(0);
  }

  const [counts] = store.describe();
  assert.equal(counts?.keys, MAX_KEYS);
  assert.equal(counts.evictedKeys, 1_000_002 - MAX_KEYS);
  assert.equal(limit.budget("kept", 0).allows(0), false);
  assert.equal(limit.budget("lost", 0).allows(0), true);
  assert.equal(limit.budget("key-999999", 0).allows(0), false);
});

Deno.test("keys whose window is over are dropped for others and not counted as evicted", () => {
  const { store, clock, limit } = setUp(definition);
  for (let i = 0; i < 1000; i++) limit.budget(`old-${i}`, 0).take(0);
  for (let i = 0; i < 1000; i++) limit.budget(`new-${i}`, 60_000).take(60_000);

  clock.advance(60_000);
  const [counts] = store.describe();
  assert.equal(counts?.keys, 1000);
  assert.equal(counts.evictedKeys, 0);
});

Deno.test("long keys are distinguished and take little memory", () => {
  const { limit } = setUp(definition);
  const long = "x".repeat(60_000);
  limit.budget(`${long}a`, 0).take(0);

  assert.equal(limit.budget(`${long}a`, 0).allows(0), false);
  assert.equal(limit.budget(`${long}b`, 0).allows(0), true);
  assert.ok(boundKey(`${long}a`).length < 128);
});

Deno.test("tokens of a key that was evicted meanwhile are still charged", () => {
  const { store, limit } = setUp(tokens);
  const budget = limit.budget("anna", 0);
  budget.take(0);
  for (let i = 0; i < MAX_KEYS; i++) {
    limit.budget(`key-${i}`, 0).debit(tokensUsed(1), 0);
  }

  budget.debit(tokensUsed(40), 0);

  assert.equal(limit.budget("anna", 0).read(0).remaining, 60);
  assert.equal(store.describe()[0]?.charged, 40 + MAX_KEYS);
});

Deno.test("describe returns the key with the least left, the overshoot of all keys, and the counts", () => {
  const { store, clock, limit } = setUp(tokens, "100 tokens");
  const now = 10_000;
  for (const [key, used] of [["a", 30], ["b", 120], ["c", 150]] as const) {
    const budget = limit.budget(key, 0);
    budget.take(0);
    budget.debit(tokensUsed(used), 0);
  }
  limit.budget("b", now).reject();

  clock.advance(now);
  assert.deepEqual(store.describe(), [{
    scope: "HTTPRoute/default/a",
    name: "100 tokens",
    unit: "tokens",
    limit: 100,
    remaining: 0,
    resetMs: 50_000,
    windowMs: 60_000,
    overshoot: 70,
    keys: 3,
    evictedKeys: 0,
    admitted: 3,
    refused: 1,
    charged: 300,
  }]);
});

Deno.test("limits count as requests happen, without visiting keys", () => {
  const store = new LocalCounterStore({
    now: () => 0,
    monotonic() {
      throw new TypeError("Somebody settles budgets");
    },
  });
  const lease = store.lease();
  const limit = lease.limit(
    { ...place, words: place.name, isKeyed: true },
    tokens,
  );
  for (const key of ["anna", "otto"]) limit.budget(key, 0).take(0);
  limit.budget("anna", 0).debit(tokensUsed(7), 0);
  limit.budget("otto", 0).reject();

  const [counts] = store.counts();
  assert.ok(counts);
  const { scope, name, keys, evictedKeys, admitted, refused } = counts;
  assert.deepEqual(
    { scope, name, keys, evictedKeys, admitted, refused },
    { ...place, keys: 2, evictedKeys: 0, admitted: 2, refused: 1 },
  );
  assert.equal(counts.charged, 7);
});

Deno.test("a changed number keeps what was used, and is shown once the configuration is in force", () => {
  const store = new LocalCounterStore(new FakeClock());
  const identity = { ...place, words: place.name, isKeyed: true };
  const before = store.lease();
  const limit = before.limit(identity, { ...definition, base: 2 });
  limit.budget("anna", 0).take(0);

  const tried = store.lease();
  tried.limit({ ...identity, name: "wrong" }, { ...definition, base: 90 });
  assert.equal(limit.budget("anna", 0).read(0).limit, 2);
  tried.release();

  const after = store.lease();
  const raised = after.limit(
    { ...identity, name: "raised" },
    { ...definition, base: 5 },
  );
  assert.deepEqual(store.describe().map(({ name }) => name), [place.name]);
  before.release();
  assert.equal(raised.budget("anna", 0).read(0).remaining, 4);
  assert.deepEqual(store.describe().map(({ name }) => name), ["raised"]);

  const last = store.lease();
  const lowered = last.limit(identity, { ...definition, base: 1 });
  after.release();
  assert.equal(lowered.budget("anna", 0).allows(0), false);
  last.release();
});

Deno.test("a store keeps the budgets of a definition while some configuration uses it", () => {
  const store = new LocalCounterStore(new FakeClock());
  const identity = { ...place, words: place.name, isKeyed: true };
  const before = store.lease();
  before.limit(identity, definition).budget("", 0).take(0);

  const after = store.lease();
  const kept = after.limit(identity, definition).budget("", 0);
  const other = after.limit(identity, { ...definition, windowMs: 1000 });
  const elsewhere = after.limit(
    { ...identity, scope: "Gateway/default/g" },
    definition,
  );
  const rewritten = after.limit({ ...identity, words: "other" }, definition);
  before.release();

  assert.equal(kept.allows(0), false);
  assert.equal(other.budget("", 0).allows(0), true);
  assert.equal(elsewhere.budget("", 0).allows(0), true);
  assert.equal(rewritten.budget("", 0).allows(0), true);
  assert.equal(store.describe().length, 4);
  assert.doesNotMatch(JSON.stringify(store.describe()), /other/);

  after.release();
  assert.deepEqual(store.describe(), []);
  const anew = store.lease().limit(identity, definition);
  assert.equal(anew.budget("", 0).allows(0), true);
});
