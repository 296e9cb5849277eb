import assert from "node:assert/strict";
import type { BudgetDefinition } from "../../../src/ratelimit/budget/budget.ts";
import { noUse } from "../../../src/ratelimit/budget/budget.ts";
import { DescriptorCounters } from "../../../src/ratelimit/limiter/descriptor_counts.ts";

function definition(
  unit: BudgetDefinition["unit"],
  reserves = false,
): BudgetDefinition {
  return {
    unit,
    base: 100,
    burst: 0,
    windowMs: 1000,
    overshoot: "Forgive",
    reserves,
  };
}

const requests = { name: "requests", definition: definition("requests") };
const money = { name: "money", definition: definition("usd", true) };
const limits = [requests, money].map((limit) => ({ ...limit, keys: [] }));
const uses = limits.map(({ name, definition }, index) => ({
  name,
  index,
  budget: definition,
  entries: [],
}));

Deno.test("each limit counts admissions, its own rejections, what it holds and what was used", () => {
  const counters = new DescriptorCounters();
  const expected = { ...noUse, nanoUsd: 3e9 };
  const held = { takenAt: 1, expected };
  const admitted = { verdict: "admitted", takenAt: 1, readings: [] } as const;
  counters.decided(uses, admitted, expected);
  counters.decided(uses, admitted, expected);
  const refusedBy = {
    index: 1,
    unit: "usd",
    limit: 1,
    remaining: 0,
    resetMs: 1,
    windowMs: 1,
  } as const;
  const refused = { verdict: "refused", readings: [], refusedBy } as const;
  counters.decided(uses, refused, expected);
  assert.deepEqual(counters.read(limits).map(({ held }) => held), [
    undefined,
    6,
  ]);

  counters.refunded(uses, held);
  counters.charged(uses, { ...noUse, nanoUsd: 2e9, totalTokens: 5 }, held);
  assert.deepEqual(counters.read(limits), [
    {
      name: "requests",
      unit: "requests",
      admitted: 2,
      refused: 0,
      charged: 0,
      held: undefined,
    },
    {
      name: "money",
      unit: "usd",
      admitted: 2,
      refused: 1,
      charged: 2,
      held: 0,
    },
  ]);
});

Deno.test("limits that no configuration has any more are forgotten", () => {
  const counters = new DescriptorCounters();
  counters.decided(uses, { verdict: "admitted", readings: [] });
  const [first] = limits;
  assert.equal(counters.read(first ? [first] : [])[0]?.admitted, 1);
  assert.deepEqual(counters.read(limits).map(({ admitted }) => admitted), [
    1,
    0,
  ]);
});
