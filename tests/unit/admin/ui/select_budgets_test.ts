import assert from "node:assert/strict";
import { InvalidParameter } from "../../../../admin/http/query_parameters.ts";
import { selectBudgets } from "../../../../admin/ui/select_budgets.ts";

const budgets = [
  { scope: "HTTPRoute/a", entry: "full", limit: 10, remaining: 10 },
  { scope: "HTTPRoute/b", entry: "by a service", limit: 10 },
  { scope: "HTTPRoute/c", entry: "low", limit: 1000, remaining: 100 },
  { scope: "HTTPRoute/d", entry: "half", limit: 4, remaining: 2 },
].map((budget) => ({ ...budget, unit: "requests" }));

function choose(query: string) {
  const { total, budgets: chosen } = selectBudgets(budgets, {
    url: `http://localhost/ui/api/budgets?${query}`,
  });
  return [total, ...chosen.map(({ entry }) => entry)];
}

Deno.test("selectBudgets lists budgets near their end first, and keeps the order of the others", () => {
  assert.deepEqual(choose(""), [4, "low", "full", "by a service", "half"]);
});

Deno.test("selectBudgets keeps budgets with the least remaining when there are too many", () => {
  assert.deepEqual(choose("limit=2"), [4, "low", "half"]);
});

Deno.test("selectBudgets searches scope and definition, ignoring case", () => {
  assert.deepEqual(choose("find=httproute/A"), [1, "full"]);
  assert.deepEqual(choose("find=SERVICE"), [1, "by a service"]);
  assert.deepEqual(choose("find=nothing"), [0]);
});

Deno.test("selectBudgets rejects a limit that is not a number", () => {
  assert.throws(() => choose("limit=all"), InvalidParameter);
});
