import assert from "node:assert/strict";
import fc from "fast-check";
import { KvFleet, useOf } from "./kv_fleet.ts";

const WINDOW_MS = 1000;

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant("requests" as const),
      limiter: fc.nat(3),
      count: fc.integer({ min: 1, max: 60 }),
    }),
  },
  fc.record({
    type: fc.constant("time" as const),
    ms: fc.constantFrom(20, 100, 400, 1000, 2500),
  }),
  fc.record({ type: fc.constant("close" as const), limiter: fc.nat(2) }),
);

Deno.test("KvLimiters admit no more than the capacity in a window and can reach all of it", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 120 }),
      fc.integer({ min: 0, max: 30 }),
      fc.array(step, { minLength: 1, maxLength: 25 }),
      async (base, burst, steps) => {
        await using fleet = await KvFleet.open(4);
        const uses = [useOf({ base, burst, windowMs: WINDOW_MS })];
        const admittedAt: number[] = [];
        async function send(index: number, count: number): Promise<void> {
          const limiter = fleet.limiters[index];
          const decisions = Array.from(
            { length: count },
            () => fleet.until(limiter?.admit(uses) ?? assert.fail()),
          );
          for (const { verdict, ...rest } of await Promise.all(decisions)) {
            if (verdict === "admitted") admittedAt.push(fleet.clock.now());
            if (!("readings" in rest)) continue;
            for (const { remaining, limit, resetMs } of rest.readings) {
              assert(remaining >= 0 && remaining <= limit);
              assert(resetMs > 0 && resetMs <= WINDOW_MS);
            }
          }
        }

        const running: Promise<void>[] = [];
        for (const one of steps) {
          if (one.type === "requests") {
            // Not awaited: limiters run into each other.
            running.push(send(one.limiter, one.count));
            continue;
          }
          await Promise.all(running.splice(0));
          if (one.type === "time") await fleet.pass(one.ms);
          else await fleet.until(fleet.limiters[one.limiter]?.close());
        }
        await Promise.all(running);

        assertWindows(admittedAt, base, burst);
        // Long enough to be full again, and for every lease to come back.
        await fleet.pass(WINDOW_MS * 40);
        let admitted = 0;
        for (let round = 0; round < 2; round++) {
          for (const limiter of fleet.limiters) {
            admitted += await fleet.admit(uses, 160, limiter);
          }
          await fleet.pass(300);
        }
        assert.equal(admitted, base + burst);
      },
    ),
    { numRuns: 60 },
  );
});

/** A window opens with the first request that is admitted, and ends when its time is over. */
function assertWindows(
  admittedAt: readonly number[],
  base: number,
  burst: number,
): void {
  let openedAt = -Infinity;
  let count = 0;
  for (const at of admittedAt) {
    if (at >= openedAt + WINDOW_MS) {
      openedAt = at;
      count = 0;
    }
    count++;
    assert(count <= base + burst, `${count} of ${base} + ${burst}`);
  }
}

Deno.test("KvLimiters account for every token that was debited", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 500 })), {
        minLength: 1,
        maxLength: 30,
      }),
      async (debits) => {
        await using fleet = await KvFleet.open(4);
        const base = 1_000_000;
        const uses = [useOf({ unit: "tokens", base })];
        for (const [index, tokens] of debits) {
          const limiter = fleet.limiters[index] ?? assert.fail();
          if (tokens % 3 === 0) await fleet.until(limiter.admit(uses));
          limiter.debit(uses, tokens);
          if (tokens % 5 === 0) await fleet.pass(100);
        }
        await fleet.pass(500);

        const decision = await fleet.until(
          fleet.limiters[3]?.admit(uses) ?? assert.fail(),
        );

        const used = debits.reduce((sum, [, tokens]) => sum + tokens, 0);
        assert(decision.verdict === "admitted");
        assert.equal(decision.readings[0]?.remaining, base - used);
      },
    ),
    { numRuns: 40 },
  );
});
