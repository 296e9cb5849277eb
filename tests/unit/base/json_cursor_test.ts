import assert from "node:assert/strict";
import fc from "fast-check";
import { JsonCursor, jsonNames } from "../../../src/base/json/json_cursor.ts";
import { KIND } from "../../../src/base/json/json_tokens.ts";

const encoder = new TextEncoder();

function isAccepted(text: string): boolean {
  const bytes = encoder.encode(text);
  const json = new JsonCursor(bytes, 0, bytes.length, 128);
  json.skip();
  return json.isAtEnd;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

Deno.test("JsonCursor skips exactly what is JSON", () => {
  fc.assert(
    fc.property(
      fc.json(),
      fc.nat(),
      fc.constantFrom("", ",", "]", "}", '"', ":", "0", "\\", " ", "1,", "{"),
      (text, place, inserted) => {
        const at = place % (text.length + 1);
        const changed = text.slice(0, at) + inserted + text.slice(at);
        assert.equal(isAccepted(text), true, text);
        assert.equal(isAccepted(changed), isJson(changed), changed);
      },
    ),
    { numRuns: 2000 },
  );
});

Deno.test("JsonCursor walks through members, and fails for what is no object", () => {
  const cases: readonly (readonly [text: string, members: string[] | "no"])[] =
    [
      ["{}", []],
      [' { "a" : [1, {"b": 2}] , "c" : "}" } ', ["a", "c"]],
      ['{"a":1,}', "no"],
      ['{"a":1 "b":2}', "no"],
      ['{"a"}', "no"],
      ['{"a":1', "no"],
      ["[1]", "no"],
      ["{}{}", "no"],
    ];
  for (const [text, expected] of cases) {
    const bytes = encoder.encode(text);
    const json = new JsonCursor(bytes, 0, bytes.length, 8);
    const names: string[] = [];
    json.enter(KIND.OPEN_OBJECT);
    while (json.nextMember()) {
      names.push(text.slice(json.nameStart, json.nameEnd));
      json.skip();
    }
    assert.deepEqual(json.isAtEnd ? names : "no", expected, text);
  }
});

Deno.test("JsonCursor finds names that are written plainly, and reports depth and line breaks", () => {
  const text = '{"a":1,"\\u0061":2,"b":\n[[[[]]]]}';
  const bytes = encoder.encode(text);
  const json = new JsonCursor(bytes, 0, bytes.length, 4);
  const found: number[] = [];
  json.enter(KIND.OPEN_OBJECT);
  while (json.nextMember()) {
    found.push(json.nameIn(jsonNames("b", "a")));
    json.skip();
  }

  assert.deepEqual(found, [1, -2, 0]);
  assert.equal(json.hasBreaks, true);
  assert.equal(json.hasFailed, true);
});
