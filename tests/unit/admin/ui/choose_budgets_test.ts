import assert from "node:assert/strict";
import { InvalidParameter } from "../../../../admin/query_numbers.ts";
import { chooseBudgets } from "../../../../admin/ui/choose_budgets.ts";

const budgets = [
  { scope: "HTTPRoute/a", entry: "full", limit: 10, remaining: 10 },
  { scope: "HTTPRoute/b", entry: "by a service", limit: 10 },
  { scope: "HTTPRoute/c", entry: "low", limit: 1000, remaining: 100 },
  { scope: "HTTPRoute/d", entry: "half", limit: 4, remaining: 2 },
];

function choose(query: string) {
  const { total, budgets: chosen } = chooseBudgets(budgets, {
    url: `http://localhost/ui/api/budgets?${query}`,
  });
  return [total, ...chosen.map(({ entry }) => entry)];
}

Deno.test("chooseBudgets leaves all in their order where there is room", () => {
  assert.deepEqual(choose(""), [4, "full", "by a service", "low", "half"]);
});

Deno.test("chooseBudgets leaves those with the least left where there is not", () => {
  assert.deepEqual(choose("limit=2"), [4, "low", "half"]);
});

Deno.test("chooseBudgets finds by scope and definition, in any case", () => {
  assert.deepEqual(choose("find=httproute/A"), [1, "full"]);
  assert.deepEqual(choose("find=SERVICE"), [1, "by a service"]);
  assert.deepEqual(choose("find=nothing"), [0]);
});

Deno.test("chooseBudgets refuses a limit that is no number", () => {
  assert.throws(() => choose("limit=all"), InvalidParameter);
});
