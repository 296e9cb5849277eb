/** Budgets that hold something for requests in progress: concurrency limits, and reservations. */
import assert from "node:assert/strict";
import type { BudgetDefinition } from "../../../src/ratelimit/budget/budget.ts";
import type { Limit } from "../../../src/ratelimit/local/counter_store.ts";
import { LocalCounterStore } from "../../../src/ratelimit/local/local_counter_store.ts";
import { takeAll } from "../../../src/ratelimit/local/take_all.ts";
import { LimitRegistry } from "../../../src/ratelimit/shared/limit_registry.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { tokensUsed } from "../../harness/login/tokens_used.ts";
import { KvFleet, useOf } from "./kv_fleet.ts";
import { lease, minute, requestOf, storeOf } from "./shared/shared_threads.ts";

const hour = 60 * minute;
const concurrent = {
  unit: "concurrentRequests",
  base: 3,
  windowMs: 1000,
} as const;
const reserving = { unit: "tokens", base: 100, reserves: true } as const;

type LimitOf = (
  definition: Partial<BudgetDefinition>,
  isKeyed?: boolean,
) => Promise<Limit>;

const kinds: Readonly<Record<string, () => LimitOf>> = {
  "one thread": () => async (definition, isKeyed) => {
    const request = requestOf("limit", definition, isKeyed);
    const store = new LocalCounterStore(new FakeClock()).lease();
    await store.ready();
    return store.limit(request.identity, request.definition);
  },
  "several threads": () => {
    const registry = new LimitRegistry(new FakeClock());
    const store = storeOf(registry);
    return async (definition, isKeyed) => {
      const request = requestOf("limit", definition, isKeyed);
      const { limits: [limit] } = await lease(store, request);
      return limit ?? assert.fail();
    };
  },
};

for (const [kind, create] of Object.entries(kinds)) {
  Deno.test(`a concurrency limit admits as many requests as have ended: ${kind}`, async () => {
    const budget = (await create()(concurrent)).budget("", 0);
    const send = (now: number) => takeAll([budget], now) === undefined;

    assert.deepEqual([send(0), send(0), send(0), send(0)], [
      true,
      true,
      true,
      false,
    ]);
    assert.equal(send(hour), false, "time alone frees no place");
    assert.equal(budget.waitMs(hour), 1000);
    assert.deepEqual(
      [budget.read(hour).remaining, budget.read(hour).held],
      [0, 3],
    );
    budget.release(tokensUsed(0), hour);
    assert.equal(budget.read(hour).remaining, 1);
    assert.deepEqual([send(hour), send(hour)], [true, false]);
    budget.debit(tokensUsed(500), hour);
    for (let i = 0; i < 3; i++) budget.release(tokensUsed(0), hour);
    assert.deepEqual(
      [budget.read(hour).remaining, budget.read(hour).held],
      [3, 0],
    );
  });

  Deno.test(`a key with requests in progress is not dropped for others: ${kind}`, async () => {
    const limit = await create()({ ...concurrent, base: 1 }, true);
    limit.budget("busy", 0).take(0);
    for (let i = 0; i < 100; i++) {
      const budget = limit.budget(`key-${i}`, hour);
      budget.take(hour);
      budget.release(tokensUsed(0), hour);
    }

    assert.equal(limit.budget("busy", hour).allows(hour), false);
    assert.equal(limit.budget("key-99", hour).allows(hour), true);
  });

  Deno.test(`a reservation is held until the usage is known, across windows: ${kind}`, async () => {
    const budget = (await create()(reserving)).budget("", 0);
    const expected = tokensUsed(60);
    const send = (now: number) =>
      takeAll([budget], now, { expected }) === undefined;

    assert.deepEqual([send(0), send(0)], [true, false]);
    assert.equal(budget.waitMs(0, expected), 1000, "the other may use less");
    assert.equal(takeAll([budget], 0, { expected: tokensUsed(40) }), undefined);
    budget.release(tokensUsed(40), 0);
    assert.deepEqual([budget.read(0).remaining, budget.read(0).held], [40, 60]);
    assert.equal(budget.read(2 * minute).remaining, 40, "still in progress");

    budget.release(expected, 2 * minute);
    budget.debit(tokensUsed(10), 2 * minute);
    assert.equal(budget.read(2 * minute).remaining, 90);
    assert.equal(send(2 * minute), true);
    budget.release(expected, 2 * minute);
    budget.debit(tokensUsed(85), 2 * minute);
    assert.equal(send(2 * minute), false);
    assert.equal(budget.waitMs(2 * minute, expected), minute);
  });
}

Deno.test("what a thread held ends with it, a moment later; what others hold stays", async () => {
  const clock = new FakeClock();
  const registry = new LimitRegistry(clock);
  const requests = [
    requestOf("concurrent", concurrent, true),
    requestOf("reserving", reserving),
  ];
  const first = storeOf(registry);
  const a = await lease(first, ...requests);
  const b = await lease(storeOf(registry), ...requests);
  const take = ({ limits }: typeof a) =>
    takeAll(limits.map((limit) => limit.budget("k", 0)), 0, {
      expected: tokensUsed(30),
    });
  for (const each of [a, b, a]) assert.equal(take(each), undefined);
  assert.deepEqual(registry.describe().map(({ held }) => held), [3, 90]);

  registry.removeThread(2);
  clock.advance(1999);
  assert.deepEqual(registry.describe().map(({ held }) => held), [3, 90]);
  clock.advance(2001);
  assert.deepEqual(registry.describe().map(({ held }) => held), [1, 30]);
  // Its place among the threads is free for another one.
  const c = await lease(storeOf(registry), ...requests);
  assert.equal(take(c), undefined);
  assert.deepEqual(registry.describe().map(({ held }) => held), [2, 60]);
});

Deno.test("threads that end faster than their share is freed are not replaced at once", async () => {
  const clock = new FakeClock();
  const registry = new LimitRegistry(clock, { maxThreads: 1 });
  const request = requestOf("concurrent", concurrent);
  await lease(storeOf(registry), request);
  registry.removeThread(2);

  await assert.rejects(lease(storeOf(registry), request), /another thread yet/);

  clock.advance(2000);
  clock.advance(2000);
  await lease(storeOf(registry), request);
});

const kvUse = useOf({ ...reserving, windowMs: hour });

Deno.test("KvLimiter reserves in the store: two processes together hold no more than is left", async () => {
  await using fleet = await KvFleet.open(2);
  const [one, two] = fleet.limiters;
  assert(one && two);
  const expected = tokensUsed(60);

  const admitted = await fleet.until(one.admit([kvUse], expected));
  assert(admitted.verdict === "admitted");
  assert.equal(admitted.readings[0]?.remaining, 40);
  const rejected = await fleet.until(two.admit([kvUse], expected));
  assert(rejected.verdict === "refused");
  assert.deepEqual([rejected.refusedBy?.remaining, rejected.needed], [40, 60]);

  const { takenAt } = admitted;
  one.debit([kvUse], tokensUsed(15), { takenAt, expected });
  await fleet.pass(1000);
  const after = await fleet.until(two.admit([kvUse], expected));
  assert(after.verdict === "admitted");
  assert.equal(after.readings[0]?.remaining, 25);
});

Deno.test("KvLimiter holds as many of ten simultaneous reservations as fit", async () => {
  await using fleet = await KvFleet.open(2);
  const [one, two] = fleet.limiters;
  assert(one && two);

  const decisions = await Promise.all(
    Array.from(
      { length: 10 },
      (_, at) =>
        fleet.until((at % 2 ? one : two).admit([kvUse], tokensUsed(30))),
    ),
  );

  const verdicts = decisions.map(({ verdict }) => verdict);
  assert.deepEqual(
    verdicts.toSorted(),
    [...Array(3).fill("admitted"), ...Array(7).fill("refused")],
  );
});

Deno.test("KvLimiter returns a reservation and the request when another limit rejects", async () => {
  await using fleet = await KvFleet.open(1);
  const requests = useOf({ base: 1, windowMs: hour }, "requests");
  const uses = [requests, { ...kvUse, index: 1 }];
  const expected = tokensUsed(60);
  const decision = await fleet.until(fleet.first.admit(uses, expected));
  assert(decision.verdict === "admitted");

  fleet.first.refund(uses, { takenAt: decision.takenAt, expected });

  const large = await fleet.until(fleet.first.admit(uses, tokensUsed(101)));
  assert.equal(large.verdict, "refused", "more than the whole budget");
  const again = await fleet.until(fleet.first.admit(uses, tokensUsed(100)));
  assert.equal(again.verdict, "admitted", "the rejection cost no request");
});

Deno.test("KvLimiter does not return a reservation to a later window", async () => {
  await using fleet = await KvFleet.open(1);
  const use = useOf(reserving);
  const expected = tokensUsed(60);
  const decision = await fleet.until(fleet.first.admit([use], expected));
  assert(decision.verdict === "admitted");
  await fleet.pass(minute + 1000);
  await fleet.until(fleet.first.admit([use], tokensUsed(50)));

  const { takenAt } = decision;
  fleet.first.debit([use], tokensUsed(20), { takenAt, expected });
  await fleet.pass(1000);

  const next = await fleet.until(fleet.first.admit([use], tokensUsed(1)));
  assert(next.verdict === "admitted");
  assert.equal(next.readings[0]?.remaining, 100 - 50 - 20 - 1);
});
