import assert from "node:assert/strict";
import { formatBudget, parseBudget } from "../../../src/api/budget_text.ts";

Deno.test("budgets are the same after they were written and read", () => {
  const texts = ["50usd/month", "0.5usd/day", "100requests/minute"];
  for (const text of texts) {
    const budget = parseBudget(text);
    assert(budget !== undefined);
    assert.equal(formatBudget({ ...budget, notifyAt: [80] }), text);
    const defaults = { burst: 0, reserve: false, whenExceeded: "Reject" };
    assert.equal(formatBudget({ ...budget, ...defaults }), text);
  }
});

Deno.test("a text that is no budget, and a budget with further fields, have no other form", () => {
  for (
    const text of ["", "50/month", "50eur/month", "usd/month", "5usd/year"]
  ) {
    assert.equal(parseBudget(text), undefined, text);
  }
  const zoned = { requests: 5, unit: "Days", timeZone: "Europe/Berlin" };
  assert.equal(formatBudget(zoned), undefined);
  const warning = { requests: 5, unit: "Days", whenExceeded: "Warn" };
  assert.equal(formatBudget(warning), undefined);
});
