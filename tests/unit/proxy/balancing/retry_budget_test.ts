import assert from "node:assert/strict";
import { RetryBudget } from "../../../../src/proxy/balancing/retry_budget.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

/** Number of retries that are left. */
function takeAll(budget: RetryBudget): number {
  let taken = 0;
  while (budget.take()) taken++;
  return taken;
}

Deno.test("RetryBudget has one retry for two requests, after the first ten", () => {
  const budget = new RetryBudget(new FakeClock());
  assert.equal(takeAll(budget), 10);

  for (let i = 0; i < 20; i++) budget.earn();

  assert.equal(takeAll(budget), 10);
});

Deno.test("RetryBudget has one retry per second, and saves up a hundred", () => {
  const clock = new FakeClock();
  const budget = new RetryBudget(clock);
  takeAll(budget);

  clock.advance(3000);
  assert.equal(takeAll(budget), 3);
  clock.advance(3_600_000);
  assert.equal(takeAll(budget), 100);
});
