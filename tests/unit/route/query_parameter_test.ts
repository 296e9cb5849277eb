import assert from "node:assert/strict";
import { readQuery } from "../../../src/route/query_parameter.ts";

const cases = [
  ["a=1", "a", "1"],
  ["a=1&a=2", "a", "1"],
  ["b=1&a=2", "a", "2"],
  ["a", "a", ""],
  ["a=", "a", ""],
  ["a=b=c", "a", "b=c"],
  ["a=%20x+y", "a", " x y"],
  ["%61=1", "a", "1"],
  ["a=%zz", "a", "%zz"],
  ["aa=1", "a", undefined],
  ["A=1", "a", undefined],
  ["", "a", undefined],
  ["&&a=1&", "a", "1"],
  ["b&a=1", "a", "1"],
] as const;
for (const [query, name, expected] of cases) {
  Deno.test(`readQuery returns ${JSON.stringify(expected)} for ${name} in "${query}"`, () => {
    assert.equal(readQuery(query).get(name), expected);
  });
}
