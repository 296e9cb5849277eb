import assert from "node:assert/strict";
import { tokensUsed } from "../../../harness/login/tokens_used.ts";
import { budgetStories } from "../budget_states.ts";
import { KvFleet, useOf } from "../kv_fleet.ts";

Deno.test("KvLimiter admits up to the budget and rejects the rest until the reset", async () => {
  await using fleet = await KvFleet.open(1);
  const uses = [useOf({ base: 5 })];

  const before = await fleet.admit(uses, 8);
  const refusal = fleet.first.admit(uses);
  await fleet.pass(60_000);
  const after = await fleet.admit(uses, 8);

  assert.equal(before, 5);
  assert("verdict" in refusal && refusal.verdict === "refused");
  assert.deepEqual(refusal.refusedBy, {
    index: 0,
    unit: "requests",
    limit: 5,
    remaining: 0,
    resetMs: 60_000,
    windowMs: 60_000,
  });
  assert.equal(after, 5);
});

Deno.test("KvLimiter shares a budget and its window between processes", async () => {
  await using fleet = await KvFleet.open(2);
  const [one, two] = fleet.limiters;
  const uses = [useOf({ base: 10 })];

  assert.equal(await fleet.admit(uses, 4, one), 4);
  await fleet.pass(20_000);
  assert.equal(await fleet.admit(uses, 20, two), 6);
  const decision = await fleet.until(two?.admit(uses) ?? assert.fail());

  assert(decision.verdict === "refused");
  assert.equal(decision.refusedBy?.resetMs, 40_000);
});

Deno.test("KvLimiter returns an unused lease for others to use", async () => {
  await using fleet = await KvFleet.open(2);
  const [one, two] = fleet.limiters;
  const uses = [useOf({ base: 1000 })];
  const first = await fleet.admit(uses, 200, one);
  assert((one?.budgets[0]?.leased ?? 0) > 0);

  const second = await fleet.admit(uses, 1000, two);
  await fleet.pass(500);
  const third = await fleet.admit(uses, 1000, two);

  assert.equal(first, 200);
  assert(second < 800);
  assert.equal(second + third, 800);
});

Deno.test("KvLimiter admits without contacting the store while its lease lasts", async () => {
  await using fleet = await KvFleet.open(1);
  const uses = [useOf({ base: 100_000 })];
  await fleet.admit(uses, 500);

  const decisions = Array.from({ length: 20 }, () => fleet.first.admit(uses));

  assert(decisions.every((it) => "verdict" in it && it.verdict === "admitted"));
  assert(fleet.first.exchanges.waits < 10);
});

Deno.test("KvLimiter checks every budget before it charges one", async () => {
  await using fleet = await KvFleet.open(1);
  const small = useOf({ base: 2, variant: 1 });
  const large = useOf({ base: 10 });

  assert.equal(await fleet.admit([large, small], 5), 2);

  assert.equal(await fleet.admit([large], 20), 8);
});

Deno.test("KvLimiter keeps what was used of a budget whose number changes", async () => {
  await using fleet = await KvFleet.open(1);

  assert.equal(await fleet.admit([useOf({ base: 10 })], 4), 4);
  await fleet.pass(300);
  assert.equal(await fleet.admit([useOf({ base: 12 })], 20), 8);
});

Deno.test("KvLimiter charges a budget of two descriptors once", async () => {
  await using fleet = await KvFleet.open(1);
  const twice = [useOf({ base: 4 }), { ...useOf({ base: 4 }), index: 1 }];

  assert.equal(await fleet.admit(twice, 9), 4);
});

Deno.test("KvLimiter separates users and domains", async () => {
  await using fleet = await KvFleet.open(1);

  assert.equal(await fleet.admit([useOf({ base: 3 }, "anna")], 9), 3);
  assert.equal(await fleet.admit([useOf({ base: 3 }, "bert")], 9), 3);
});

Deno.test("KvLimiter admits another request after a refund", async () => {
  await using fleet = await KvFleet.open(1);
  const uses = [useOf({ base: 3 })];
  await fleet.admit(uses, 3);

  fleet.first.refund(uses, { takenAt: fleet.clock.monotonic() });

  assert.equal(await fleet.admit(uses, 5), 1);
});

Deno.test("KvLimiter closes the window of a refunded request", async () => {
  await using fleet = await KvFleet.open(2);
  const uses = [useOf({ base: 3 })];
  await fleet.admit(uses, 1);
  fleet.first.refund(uses, { takenAt: fleet.clock.monotonic() });
  await fleet.pass(50_000);

  for (const limiter of fleet.limiters.toReversed()) {
    const decision = await fleet.until(limiter.admit(uses));

    assert(decision.verdict === "admitted");
    assert.equal(decision.readings[0]?.resetMs, 60_000);
  }
});

Deno.test("KvLimiter keeps a window open that others use after a refund", async () => {
  await using fleet = await KvFleet.open(2);
  const [one, two] = fleet.limiters;
  const uses = [useOf({ base: 3 })];
  await fleet.admit(uses, 1, two);
  await fleet.admit(uses, 1, one);
  one?.refund(uses, { takenAt: fleet.clock.monotonic() });
  await fleet.pass(50_000);

  const decision = await fleet.until(two?.admit(uses) ?? assert.fail());

  assert(decision.verdict === "admitted");
  assert.equal(decision.readings[0]?.resetMs, 10_000);
  assert.equal(decision.readings[0]?.remaining, 1);
});

Deno.test("KvLimiter returns readings with the indexes of their descriptors", async () => {
  await using fleet = await KvFleet.open(1);
  const at = (index: number, user: string) => ({
    ...useOf({ base: 2 }, user),
    index,
  });
  const uses = [at(0, "anna"), at(2, "anna"), at(3, "bert")];
  await fleet.admit([at(0, "bert")], 2);

  const refusal = await fleet.until(fleet.first.admit(uses));

  assert(refusal.verdict === "refused");
  assert.deepEqual(refusal.readings.map(({ index }) => index), [0, 3]);
  assert.equal(refusal.refusedBy?.index, 3);
});

Deno.test("KvLimiter rejects with the exhausted budget that resets last", async () => {
  await using fleet = await KvFleet.open(1);
  const uses = [
    { ...useOf({ base: 1, windowMs: 1000 }, "second"), index: 0 },
    { ...useOf({ base: 1, windowMs: 3_600_000 }, "hour"), index: 1 },
    { ...useOf({ base: 9, windowMs: 7_200_000 }, "open"), index: 2 },
  ];
  await fleet.admit(uses, 1);

  const refusal = await fleet.until(fleet.first.admit(uses));

  assert(refusal.verdict === "refused");
  assert.equal(refusal.refusedBy?.index, 1);
  assert.equal(refusal.refusedBy?.resetMs, 3_600_000);
});

Deno.test("KvLimiter does not refund a charge to a later window", async () => {
  await using fleet = await KvFleet.open(1);
  const uses = [useOf({ base: 3 })];
  await fleet.admit(uses, 2);
  const takenAt = fleet.clock.monotonic();
  await fleet.pass(60_000);
  await fleet.admit(uses, 2);

  fleet.first.refund(uses, { takenAt });
  fleet.first.refund(uses, { takenAt });

  assert.equal(await fleet.admit(uses, 5), 1);
});

for (const { name, budget, steps } of budgetStories) {
  Deno.test(`KvLimiter as a local budget: ${name}`, async () => {
    await using fleet = await KvFleet.open(1);
    const uses = [useOf(budget)];
    const startedAt = fleet.clock.now();
    for (const step of steps) {
      await fleet.pass(startedAt + step.at - fleet.clock.now());
      if ("send" in step) {
        assert.equal(await fleet.admit(uses, step.send), step.admitted);
      } else if ("debit" in step) {
        fleet.first.debit(uses, tokensUsed(step.debit));
      } else {
        const [state] = fleet.first.budgets;
        // A budget is unknown until its first use.
        const { remaining, resetMs } = state ??
          { remaining: budget.base + budget.burst, resetMs: budget.windowMs };
        assert.equal(remaining, step.remaining);
        assert.equal(step.resetMs ?? resetMs, resetMs);
      }
    }
  });
}

const bursts = [
  { name: "a new budget is full", idleMs: 0, use: 0, admitted: 15 },
  {
    name: "a used budget gets its base",
    idleMs: 60_000,
    use: 15,
    admitted: 10,
  },
  { name: "what was left is saved up", idleMs: 60_000, use: 12, admitted: 13 },
  {
    name: "no more than the burst is saved",
    idleMs: 60_000,
    use: 2,
    admitted: 15,
  },
  { name: "idle windows count too", idleMs: 120_000, use: 15, admitted: 15 },
];
for (const { name, idleMs, use, admitted } of bursts) {
  Deno.test(`KvLimiter refills with burst: ${name}`, async () => {
    await using fleet = await KvFleet.open(2);
    const uses = [useOf({ base: 10, burst: 5 })];
    assert.equal(await fleet.admit(uses, use), use);

    await fleet.pass(idleMs);

    assert.equal(await fleet.admit(uses, 30, fleet.limiters[1]), admitted);
  });
}

Deno.test("KvLimiter admits tokens until they are used, also by another process", async () => {
  await using fleet = await KvFleet.open(2);
  const [one, two] = fleet.limiters;
  const uses = [useOf({ unit: "tokens", base: 100 })];
  assert.equal(await fleet.admit(uses, 5, one), 5);
  assert.equal(await fleet.admit(uses, 1, two), 1);

  one?.debit(uses, tokensUsed(130));
  assert.equal(await fleet.admit(uses, 1, one), 0);
  assert.equal(one?.budgets[0]?.pendingDebits, 130);
  await fleet.pass(200);
  await fleet.admit(uses, 1, two);
  await fleet.rest();

  assert.equal(await fleet.admit(uses, 1, two), 0);
  assert.equal(one?.budgets[0]?.pendingDebits, 0);
});

Deno.test("KvLimiter charges a debit to the window in which it was made", async () => {
  await using fleet = await KvFleet.open(1);
  const uses = [useOf({ unit: "tokens", base: 100 })];
  await fleet.admit(uses, 1);
  await fleet.pass(59_950);
  fleet.first.debit(uses, tokensUsed(5000));

  // Nothing was settled before the reset.
  fleet.clock.advance(50);

  assert.equal(await fleet.admit(uses, 1), 1);
});

Deno.test("KvLimiter settles a debit of a request that outlived its window", async () => {
  await using fleet = await KvFleet.open(1);
  const uses = [useOf({ unit: "tokens", base: 100 })];
  await fleet.admit(uses, 1);
  await fleet.pass(60_000);

  fleet.first.debit(uses, tokensUsed(100));
  await fleet.pass(200);

  assert.equal(await fleet.admit(uses, 1), 0);
});

Deno.test("KvLimiter returns its leases when it closes", async () => {
  await using fleet = await KvFleet.open(2);
  const [one, two] = fleet.limiters;
  const uses = [useOf({ base: 1000 })];
  const first = await fleet.admit(uses, 100, one);
  assert((one?.budgets[0]?.leased ?? 0) > 0);

  await one?.close();

  assert.equal(first + await fleet.admit(uses, 2000, two), 1000);
  const decision = await one?.admit(uses);
  assert.equal(decision?.verdict, "failed");
});

Deno.test("KvLimiter keeps a bounded number of budgets in memory and loses none", async () => {
  await using fleet = await KvFleet.open(1, { maxBudgets: 10 });
  const users = Array.from({ length: 50 }, (_, id) => `user-${id}`);
  for (const user of users) await fleet.admit([useOf({ base: 6 }, user)], 4);

  const { length: kept } = fleet.first.budgets;
  const more = [];
  await fleet.pass(300);
  for (const user of users) {
    more.push(await fleet.admit([useOf({ base: 6 }, user)], 4));
  }

  assert.equal(kept, 10);
  assert(more.every((admitted) => admitted === 2), `${more}`);
});

Deno.test("KvLimiter keeps a budget in use while others come and go", async () => {
  await using fleet = await KvFleet.open(1, { maxBudgets: 10 });
  const steady = [useOf({ base: 1000 }, "steady")];
  await fleet.admit(steady, 1);
  for (let id = 0; id < 50; id++) {
    await fleet.admit([useOf({ base: 6 }, `user-${id}`)], 1);
    await fleet.admit(steady, 1);
  }

  const last = fleet.first.budgets.at(-1);
  assert.deepEqual(last?.entries.map(([, value]) => value), ["steady"]);
  assert(last.leased > 0, "the lease was kept");
});

Deno.test("KvLimiter does not lose debits to a storm of new keys", async () => {
  await using fleet = await KvFleet.open(1, { maxBudgets: 10 });
  const uses = [useOf({ unit: "tokens", base: 100 })];
  await fleet.admit(uses, 1);
  fleet.first.debit(uses, tokensUsed(500));

  await fleet.until(Promise.all(
    Array.from(
      { length: 50 },
      (_, index) => fleet.first.admit([useOf({ base: 5 }, `new-${index}`)]),
    ),
  ));
  await fleet.pass(200);

  assert.equal(await fleet.admit(uses, 1), 0);
  assert.equal(fleet.first.exchanges.lostTokens, 0);
});

Deno.test("KvLimiter exceeds a token budget by no more than documented", async () => {
  await using fleet = await KvFleet.open(2);
  const uses = [useOf({ unit: "tokens", base: 1000 })];
  const tokens = 7;
  let used = 0;
  for (let at = 0; at < 2000; at += 10) {
    for (const limiter of fleet.limiters) {
      if (await fleet.admit(uses, 1, limiter) === 0) continue;
      limiter.debit(uses, tokensUsed(tokens));
      used += tokens;
    }
    fleet.clock.advance(10);
    await fleet.rest();
  }

  // One in flight in each process; the other one reads a debit within 0.2 s, while it admits 20.
  assert(used >= 1000 && used <= 1000 + tokens * (2 + 20), `${used}`);
});
