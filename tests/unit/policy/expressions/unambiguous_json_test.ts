import assert from "node:assert/strict";
import { parseUnambiguous } from "../../../../src/policy/expressions/unambiguous_json.ts";
import { fc } from "../../../harness/properties.ts";

function parse(text: string): unknown {
  return parseUnambiguous(new TextEncoder().encode(text));
}

Deno.test("parseUnambiguous reads every JSON value", () => {
  fc.assert(fc.property(fc.json(), (text) => {
    assert.deepEqual(parse(text), JSON.parse(text));
  }));
});

for (
  const text of [
    '{"a":":","b":"\\":","c\\\\":"\\\\"}',
    '{"__proto__":{"a":1},"constructor":[":",{"a":1}]}',
    '[{"a":1},{"a":1}]',
    '{"a":{"a":{"a":1}}}',
    "[".repeat(100_000) + "]".repeat(100_000),
    `"${"\\\\".repeat(100_000)}"`,
  ]
) {
  Deno.test(`parseUnambiguous accepts ${text.slice(0, 50)}`, () => {
    parse(text);
  });
}

for (
  const text of [
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '{"":1,"":2}',
    '{"__proto__":1,"__proto__":2}',
    '[{"x":{"1":1,"b":2,"1":3}}]',
    '{"a":{"b":1},"a":2}',
    '{"a":2,"a":{"b":1}}',
    "{",
    "",
  ]
) {
  Deno.test(`parseUnambiguous refuses ${text}`, () => {
    assert.throws(() => parse(text));
  });
}

Deno.test("parseUnambiguous refuses what is no UTF-8", () => {
  assert.throws(() => parseUnambiguous(new Uint8Array([0x22, 0xff, 0x22])));
});
