import assert from "node:assert/strict";
import { tokensUsed } from "../../harness/login/tokens_used.ts";
import { KvFleet, useOf } from "./kv_fleet.ts";
import { fc } from "../../harness/parsers/properties.ts";

const WINDOW_MS = 1000;

interface RequestStep {
  readonly limiter: number;
  readonly count: number;
  readonly refunds: number;
}

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant("requests" as const),
      limiter: fc.nat(3),
      count: fc.integer({ min: 1, max: 60 }),
      /** One of so many admitted requests is refunded; none if 0. */
      refunds: fc.constantFrom(0, 0, 0, 1, 3),
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
        /** Ends of the windows in which requests were admitted. */
        const ends: number[] = [];
        async function send(
          { limiter: index, count, refunds }: RequestStep,
        ): Promise<void> {
          const limiter = fleet.limiters[index];
          const decisions = Array.from({ length: count }, async (_, place) => {
            const decision = await limiter?.admit(uses);
            if (decision === undefined || !("readings" in decision)) return;
            const isRefunded = decision.verdict === "admitted" &&
              refunds > 0 && place % refunds === 0;
            if (isRefunded) {
              limiter?.refund(uses, { takenAt: decision.takenAt });
            }
            for (const { remaining, limit, resetMs } of decision.readings) {
              assert(remaining >= 0 && remaining <= limit);
              assert(resetMs > 0 && resetMs <= WINDOW_MS);
              if (decision.verdict !== "admitted" || isRefunded) continue;
              ends.push(fleet.clock.now() + resetMs);
            }
          });
          await fleet.until(Promise.all(decisions));
        }

        const running: Promise<void>[] = [];
        for (const one of steps) {
          if (one.type === "requests") {
            // Not awaited: limiters conflict.
            running.push(send(one));
            continue;
          }
          await Promise.all(running.splice(0));
          if (one.type === "time") await fleet.pass(one.ms);
          else await fleet.until(fleet.limiters[one.limiter]?.close());
        }
        await Promise.all(running);

        assertWindows(ends, base, burst);
        // Long enough for all leases to be returned and the budget to be full again.
        await fleet.pass(WINDOW_MS);
        fleet.clock.advance(WINDOW_MS * 40);
        await fleet.rest();
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

/** Checks windows: a full budget opens one at any time; otherwise windows follow each other without a gap. */
function assertWindows(
  ends: readonly number[],
  base: number,
  burst: number,
): void {
  let available = base + burst;
  let end = -Infinity;
  for (const next of ends.toSorted((a, b) => a - b)) {
    if (next !== end) {
      const windows = Math.floor((next - end) / WINDOW_MS);
      assert(windows >= 1, `a window ends ${next - end} ms after another`);
      available = Math.min(base + burst, available + windows * base);
      if (available < base + burst) {
        assert.equal((next - end) % WINDOW_MS, 0, "not on the grid");
      }
      end = next;
    }
    available--;
    assert(available >= 0, `more than ${base} + ${burst} in a window`);
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
          limiter.debit(uses, tokensUsed(tokens));
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
