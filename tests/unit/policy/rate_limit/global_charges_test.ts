import assert from "node:assert/strict";
import { GlobalCharges } from "../../../../src/policy/rate_limit/global_charges.ts";
import { noUse } from "../../../../src/ratelimit/budget/budget.ts";
import type { LimiterDecision } from "../../../../src/ratelimit/limiter/global_limiter.ts";

const budget = {
  unit: "tokens",
  base: 100,
  burst: 0,
  windowMs: 1000,
  overshoot: "Forgive",
  reserves: true,
} as const;
const use = { index: 0, entries: [], budget };
const next = { ...noUse, totalTokens: 40 };
const admitted = { verdict: "admitted", takenAt: 2, readings: [] } as const;

/** A limiter that records what it holds, and its decisions. */
function start(decide: () => Promise<LimiterDecision>, isOpen = false) {
  const calls: unknown[] = [];
  const limiter = {
    admit: () => decide(),
    debit: (_uses: unknown, { totalTokens }: typeof noUse, held?: unknown) =>
      calls.push(["debit", totalTokens, held]),
    refund: (_uses: unknown, held: unknown) => calls.push(["refund", held]),
  };
  const held = { takenAt: 1, expected: { ...noUse, totalTokens: 30 } };
  const charges = new GlobalCharges([use], held, { limiter, isOpen });
  return { calls, charges, held };
}

Deno.test("a part takes the place of what was held for it, and the end that of the next one", async () => {
  const { calls, charges, held } = start(() => Promise.resolve(admitted));
  assert.equal(await charges.charge({ ...noUse, totalTokens: 5 }, next), false);
  charges.settle(noUse);
  const following = { takenAt: 2, expected: next };
  assert.deepEqual(calls, [["debit", 5, held], ["debit", 0, following]]);
});

Deno.test("nothing stays held when the request ends before the limiter has decided", async () => {
  const { promise, resolve } = Promise.withResolvers<LimiterDecision>();
  const { calls, charges, held } = start(() => promise);
  const charged = charges.charge({ ...noUse, totalTokens: 5 }, next);
  charges.settle(noUse);
  resolve(admitted);
  assert.equal(await charged, false);
  assert.deepEqual(calls, [
    ["debit", 5, held],
    ["debit", 0, undefined],
    ["refund", { takenAt: 2, expected: next }],
  ]);
});

Deno.test("a limiter that fails ends a request unless its failure mode is Open", async () => {
  const fail = () =>
    Promise.resolve({ verdict: "failed", error: new Error("down") } as const);
  for (const isOpen of [true, false]) {
    const { charges } = start(fail, isOpen);
    assert.equal(await charges.charge(noUse, next), !isOpen);
  }
});
