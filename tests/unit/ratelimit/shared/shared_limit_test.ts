import assert from "node:assert/strict";
import { tokensUsed } from "../../../harness/login/tokens_used.ts";
import type { Limit } from "../../../../src/ratelimit/local/counter_store.ts";
import { LocalCounterStore } from "../../../../src/ratelimit/local/local_counter_store.ts";
import { takeAll } from "../../../../src/ratelimit/local/take_all.ts";
import { LimitRegistry } from "../../../../src/ratelimit/shared/limit_registry.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { fc } from "../../../harness/parsers/properties.ts";
import { budgetStories } from "../budget_states.ts";
import {
  CountingThread,
  lease,
  minute,
  requestOf,
  storeOf,
} from "./shared_threads.ts";

for (const { name, budget: definition, steps } of budgetStories) {
  Deno.test(`two threads: ${name}`, async () => {
    const registry = new LimitRegistry(new FakeClock());
    const request = requestOf("limit", definition);
    const { limits: [a] } = await lease(storeOf(registry), request);
    const { limits: [b] } = await lease(storeOf(registry), request);
    assert.ok(a && b);
    const threads = [a.budget("", 0), b.budget("", 0)];
    let turn = 0;
    const next = () => {
      const budget = threads[turn++ % 2];
      assert.ok(budget);
      return budget;
    };
    for (const step of steps) {
      if ("send" in step) {
        let admitted = 0;
        for (let i = 0; i < step.send; i++) {
          if (takeAll([next()], step.at) === undefined) admitted++;
        }
        assert.equal(admitted, step.admitted);
      } else if ("debit" in step) {
        next().debit(tokensUsed(step.debit), step.at);
      } else {
        const { remaining, resetMs } = next().read(step.at);
        assert.equal(remaining, step.remaining);
        assert.equal(step.resetMs ?? resetMs, resetMs);
      }
    }
  });
}

const step = fc.record({
  kind: fc.constantFrom("request", "debit", "refund", "wait", "read"),
  key: fc.nat(7).map((key) => `key-${key}`),
  amount: fc.nat(9),
  waitMs: fc.oneof(fc.nat(9), fc.nat(3 * minute)),
});

Deno.test("in any order of requests, debits, refunds and resets, threads count as one does, evictions included", async () => {
  await fc.assert(fc.asyncProperty(
    fc.record({
      unit: fc.constantFrom("requests", "tokens"),
      base: fc.integer({ min: 1, max: 5 }),
      burst: fc.nat(3),
      overshoot: fc.constantFrom("Forgive", "Carry"),
    }),
    fc.integer({ min: 1, max: 5 }),
    fc.array(step, { maxLength: 60 }),
    async (definition, maxKeys, steps) => {
      const requests = [
        requestOf("keyed", definition, true),
        requestOf("all", { ...definition, base: 9 }),
      ] as const;
      const clock = new FakeClock();
      const localStore = new LocalCounterStore(clock, { maxKeys });
      const { limits: local } = await lease(localStore, ...requests);
      const registry = new LimitRegistry(clock, { maxKeys });
      const a = await lease(storeOf(registry), ...requests);
      const b = await lease(storeOf(registry), ...requests);
      let now = 0;
      let turn = 0;
      const admitted: { readonly key: string; readonly at: number }[] = [];
      /**
       * Does the same to the limits of one thread, and of two that take turns. Actions begin with `allows`, which makes both know
       * a key.
       */
      const both = <T>(
        action: (limits: readonly Limit[]) => T,
      ): T => {
        const expected = action(local);
        const shared = turn++ % 2 === 0 ? a : b;
        assert.deepEqual(action(shared.limits), expected);
        return expected;
      };
      const use = ([keyed, all]: readonly Limit[], key: string) => {
        assert.ok(keyed && all);
        return [keyed.budget(key, now), all.budget("", now)];
      };
      for (const { kind, key, amount, waitMs } of steps) {
        if (kind === "wait") now += waitMs;
        if (kind === "request") {
          const limit = both((limits) =>
            takeAll(use(limits, key), now)?.limit.name
          );
          if (limit === undefined) admitted.push({ key, at: now });
        }
        if (kind === "debit") {
          both((limits) => {
            for (const budget of use(limits, key)) {
              budget.allows(now);
              budget.debit(tokensUsed(amount), now);
            }
          });
        }
        const last = kind === "refund" ? admitted.pop() : undefined;
        if (last !== undefined) {
          both((limits) => {
            for (const budget of use(limits, last.key)) {
              budget.allows(now);
              budget.refund(last.at, now);
            }
          });
        }
        if (kind === "read") {
          both((limits) =>
            use(limits, key).map((budget) => {
              budget.allows(now);
              return [budget.read(now), budget.waitMs(now)];
            })
          );
        }
      }
      clock.advance(now);
      assert.deepEqual(registry.describe(), localStore.describe());
    },
  ));
});

Deno.test("describe shows all threads as one", async () => {
  const clock = new FakeClock();
  const registry = new LimitRegistry(clock);
  const request = requestOf("tokens", { unit: "tokens", base: 100 }, true);
  const a = await lease(storeOf(registry), request);
  const b = await lease(storeOf(registry), request);
  const [one, two] = [a.limits[0], b.limits[0]];
  assert.ok(one && two);
  for (const [limit, key, used] of [[one, "a", 30], [two, "b", 120]] as const) {
    const budget = limit.budget(key, 0);
    budget.take(0);
    budget.debit(tokensUsed(used), 0);
  }
  one.budget("b", 0).debit(tokensUsed(30), 0);
  two.budget("b", 0).reject();
  clock.advance(10_000);

  const local = new LocalCounterStore(clock);
  await lease(local, request);
  const [unused] = local.describe();
  assert.deepEqual(registry.describe(), [{
    ...unused,
    remaining: 0,
    resetMs: 50_000,
    overshoot: 50,
    keys: 2,
    admitted: 2,
    refused: 1,
    charged: 180,
  }]);
});

Deno.test("a limit keeps its budgets while a configuration of some thread uses it", async () => {
  const registry = new LimitRegistry(new FakeClock());
  const request = requestOf("limit", { base: 1 });
  const store = storeOf(registry);
  const before = await lease(store, request);
  before.limits[0]?.budget("", 0).take(0);
  const after = await lease(store, request);
  before.lease.release();
  const other = await lease(storeOf(registry), request);
  after.lease.release();

  assert.equal(other.limits[0]?.budget("", 0).allows(0), false);
  other.lease.release();
  assert.deepEqual(registry.counts(), []);
  const anew = await lease(store, request);
  assert.equal(anew.limits[0]?.budget("", 0).allows(0), true);
});

Deno.test("the budget of a limit without keys can be taken before the limit is ready", async () => {
  const registry = new LimitRegistry(new FakeClock());
  const lease = storeOf(registry).lease();
  const { identity, definition } = requestOf("limit", { base: 1 });

  const budget = lease.limit(identity, definition).budget("", 0);
  await lease.ready();

  budget.take(0);
  assert.equal(budget.allows(0), false);
});

Deno.test("a lease that ends before it is ready uses nothing", () => {
  const registry = new LimitRegistry(new FakeClock());
  const lease = storeOf(registry).lease();
  const { identity, definition } = requestOf("limit", {});
  const limit = lease.limit(identity, definition);

  assert.throws(() => limit.budget("", 0).allows(0), /before it was ready/);
  lease.release();
  assert.deepEqual(registry.counts(), []);
});

Deno.test("threads whose clocks began at other times see the same window", async () => {
  const control = new FakeClock();
  const registry = new LimitRegistry(control);
  control.advance(500_000);
  const request = requestOf("limit", { base: 1 });
  const clocks = [7, 3_000_007].map((time) => ({
    monotonic: () => time,
    now: () => 0,
  }));
  const [a, b] = await Promise.all(
    clocks.map((clock) => lease(storeOf(registry, clock), request)),
  );
  const budgets = [a?.limits[0]?.budget("", 0), b?.limits[0]?.budget("", 0)];
  budgets[0]?.take(7);

  assert.equal(budgets[1]?.waitMs(3_000_007 + 10_000), minute - 10_000);
  // A clock that is a little behind.
  assert.equal(budgets[1]?.read(3_000_000).resetMs, minute);
});

const attempts = 20_000;

Deno.test("workers that race admit exactly the limit, each request by both limits or by none", async () => {
  const registry = new LimitRegistry(new FakeClock());
  const requests = [
    requestOf("small", { base: 10_000 }),
    requestOf("large", { base: 1_000_000 }),
  ];
  using a = new CountingThread(registry);
  using b = new CountingThread(registry);
  using c = new CountingThread(registry);

  const admitted = await Promise.all([
    a.run(requests, { attempts }),
    b.run(requests, { attempts, order: [1, 0] }),
    c.run(requests, { attempts, order: [1, 0] }),
  ]);

  const [small, large] = registry.counts();
  assert.equal(
    admitted.reduce((sum: number, each) => sum + Number(each), 0),
    10_000,
  );
  assert.deepEqual([small?.admitted, large?.admitted], [10_000, 10_000]);
  assert.equal(
    (small?.refused ?? 0) + (large?.refused ?? 0),
    3 * attempts - 10_000,
  );
});

Deno.test("workers that race for keys admit exactly the limit of each key", async () => {
  const registry = new LimitRegistry(new FakeClock());
  const requests = [requestOf("keyed", { base: 50 }, true)];
  const keys = [Array.from({ length: 97 }, (_, at) => `key-${at}`)];
  using a = new CountingThread(registry);
  using b = new CountingThread(registry);

  const admitted = await Promise.all(
    [a, b].map((thread) => thread.run(requests, { attempts, keys })),
  );

  assert.equal(Number(admitted[0]) + Number(admitted[1]), 97 * 50);
  assert.deepEqual(registry.counts().map(({ keys }) => keys), [97]);
  assert.deepEqual(registry.describe().map(({ remaining }) => remaining), [0]);
});

Deno.test("workers that race with more keys than fit keep the table whole", async () => {
  const registry = new LimitRegistry(new FakeClock(), { maxKeys: 64 });
  const requests = [requestOf("keyed", { base: 1 }, true)];
  const names = Array.from({ length: 999 }, (_, at) => `key-${at}`);
  using a = new CountingThread(registry);
  using b = new CountingThread(registry);

  const admitted = await Promise.all([
    a.run(requests, { attempts, keys: [names] }),
    b.run(requests, { attempts, keys: [names.toReversed()] }),
  ]);

  const [counts] = registry.counts();
  assert.equal(counts?.keys, 64);
  assert.equal(counts.admitted, Number(admitted[0]) + Number(admitted[1]));
  // Every admitted request had a new budget, and the budgets that are not there any more were evicted.
  assert.equal(counts.admitted - counts.evictedKeys, 64);
});

Deno.test("a worker that ends while it counts does not block the others", async () => {
  const clock = new FakeClock();
  const registry = new LimitRegistry(clock);
  const requests = [requestOf("limit", { base: 100 })];
  using survivor = new CountingThread(registry);
  const victim = new CountingThread(registry);
  assert.equal(await victim.run(requests, { endsHolding: true }), "holding");
  const admitted = survivor.run(requests, { attempts });
  const [described] = registry.describe();
  assert.equal(described?.name, "limit");

  victim[Symbol.dispose]();
  registry.removeThread(victim.number);
  clock.advance(10_000);

  assert.equal(await admitted, 100);
});
