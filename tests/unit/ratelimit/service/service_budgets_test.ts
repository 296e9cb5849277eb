import assert from "node:assert/strict";
import {
  describeServiceProblems,
  serviceUnitOf,
  windowOfUnit,
} from "../../../../src/ratelimit/service/service_budgets.ts";
import { useOf } from "../service_limiters.ts";

Deno.test("serviceUnitOf and windowOfUnit agree on every unit", () => {
  for (let unit = 1; unit <= 7; unit++) {
    assert.equal(serviceUnitOf(windowOfUnit(unit) ?? 0), unit);
  }
  assert.equal(windowOfUnit(0), undefined);
  assert.throws(() => serviceUnitOf(1500), /got 1500 ms/);
});

Deno.test("describeServiceProblems reports nothing for supported budgets", () => {
  const { budget } = useOf("requests");

  assert.deepEqual(
    describeServiceProblems([
      { budget, keys: ["user"] },
      { budget, keys: ["team"] },
      { budget: { ...budget, windowMs: 1000 }, keys: ["user"] },
    ]),
    [],
  );
});

Deno.test("describeServiceProblems reports burst, carried overshoot, odd windows and duplicates", () => {
  const { budget } = useOf("requests");

  assert.deepEqual(
    describeServiceProblems([
      { budget: { ...budget, burst: 5 }, keys: ["user"] },
      { budget: { ...budget, overshoot: "Carry" }, keys: ["team"] },
      { budget: { ...budget, windowMs: 1500 }, keys: ["user"] },
      { budget: { ...budget, unit: "tokens" }, keys: ["user"] },
    ]),
    [
      { index: 0, problem: "has no burst" },
      { index: 1, problem: "cannot carry overshoot" },
      { index: 2, problem: "has no window of 1500 ms" },
      {
        index: 3,
        problem:
          "cannot distinguish descriptor 3 from descriptor 0: use another unit or other keys",
      },
    ],
  );
});
