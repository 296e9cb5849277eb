import assert from "node:assert/strict";
import { BoundedJson } from "../../../src/base/json/bounded_json.ts";

for (
  const [text, limit, isParsed] of [
    ['{"a":1,"b":[2]}', 5, true],
    ["[[],[],[]]", 7, true],
    ["[[],[],[]]", 6, false],
    ["[".repeat(100) + "]".repeat(100), 50, false],
    [String.raw`{"a":"[,[,{\"[,[\\"}`, 2, true],
    [String.raw`["\\",1,1]`, 3, false],
  ] as const
) {
  Deno.test(`${text.slice(0, 30)} is ${isParsed ? "parsed" : "rejected"} with a limit of ${limit}`, () => {
    const parsed = new BoundedJson(limit).parse(text);

    assert.deepEqual(parsed, isParsed ? JSON.parse(text) : undefined);
  });
}

Deno.test("texts share one limit, and stay out once it is reached", () => {
  const json = new BoundedJson(5);

  const parsed = ["[1]", "[2]", "[3]", "4"].map((text) => json.parse(text));

  assert.deepEqual(parsed, [[1], [2], undefined, undefined]);
});

Deno.test("an invalid text is undefined", () => {
  assert.equal(new BoundedJson(5).parse('{"a"'), undefined);
});
