import assert from "node:assert/strict";
import { findScopes } from "../../../../src/policy/cel/scope_condition.ts";
import { fc } from "../../../harness/parsers/properties.ts";

function has(...needed: readonly string[]) {
  return (scopes: readonly string[]) =>
    needed.every((scope) => scopes.includes(scope));
}

for (
  const [what, candidates, holds, expected] of [
    ["nothing", ["a"], () => true, []],
    ["one", ["a", "b"], has("b"), ["b"]],
    [
      "the smaller of two sets",
      ["a", "b", "c"],
      (s: readonly string[]) => has("a", "b")(s) || has("c")(s),
      ["c"],
    ],
    ["three", ["a", "b", "c", "d"], has("d", "b", "a"), ["a", "b", "d"]],
    ["five", [..."abcdefg"], has(..."bcdfg"), [..."bcdfg"]],
    [
      "one, and another may not be there",
      ["a", "b"],
      (s: readonly string[]) => has("a")(s) && !has("b")(s),
      ["a"],
    ],
    ["what is no candidate", ["a"], has("b"), undefined],
    ["anything, without candidates", [], has("b"), undefined],
  ] as const
) {
  Deno.test(`findScopes finds ${expected} where ${what} is needed`, () => {
    assert.deepEqual(findScopes(candidates, holds), expected);
  });
}

Deno.test("findScopes finds a set that holds and needs each of its scopes, in bounded work", () => {
  const scopes = [..."abcdefghijkl"];
  fc.assert(
    fc.property(
      fc.array(fc.subarray(scopes, { minLength: 1 }), { maxLength: 4 }),
      (sets) => {
        let tests = 0;
        const holds = (given: readonly string[]) => {
          tests++;
          return sets.some((set) => has(...set)(given));
        };

        const found = findScopes(scopes, holds);

        assert.ok(tests <= 320, `${tests} tests`);
        assert.equal(found === undefined, sets.length === 0);
        if (found === undefined) return;
        assert.ok(holds(found));
        for (const each of found) {
          assert.ok(!holds(found.filter((scope) => scope !== each)));
        }
        const smallest = Math.min(...sets.map(({ length }) => length));
        if (smallest <= 3) assert.equal(found.length, smallest);
      },
    ),
  );
});
