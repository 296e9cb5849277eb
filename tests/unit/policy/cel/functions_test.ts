import assert from "node:assert/strict";
import {
  compileExpression,
  Expression,
} from "../../../../src/policy/cel/expression.ts";
import { claimsValue } from "../../../../src/policy/cel/values.ts";

/** `true`, `false`, or `failure`. */
function test(text: string, claims: Record<string, unknown>) {
  const compiled = compileExpression(text);
  assert.ok(compiled instanceof Expression, JSON.stringify(compiled));
  const result = compiled.test({ jwt: claimsValue(claims) });
  return typeof result === "boolean" ? result : "failure";
}

const functions: string[] = [
  `json('{"a": [1, 1.5, "x", null, true]}').a == [1, 1.5, 'x', null, true]`,
  "json(b'[1]') == [1] && json('2') == 2 && has(json('{\"a\":1}').a)",
  "json(toJson(jwt)) == jwt",
  `toJson({'b': 1, 'a': [2u, 1.5, null, b'hi']}) == '{"b":1,"a":[2,1.5,null,"aGk="]}'`,
  "toJson(-9223372036854775808) == '\"-9223372036854775808\"'",
  "base64.encode('hi') == 'aGk=' && base64.encode(b'\\xff') == '/w=='",
  "base64.decode('_w') == b'\\xff' && base64.decode('/w==') == b'\\xff'",
  "url.decode(url.encode('a&b=ü/ %')) == 'a&b=ü/ %'",
  "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP('11.0.0.1')",
  "cidr('fd00::/8').containsIP(ip('FD00:0::1')) && !cidr('fd00::/8').containsIP('10.0.0.1')",
  "ip('FD00:0:0::1') == ip('fd00::1') && isIP('::1') && !isIP('10.0.0') && isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.1')",
];
for (const text of functions) {
  Deno.test(`${text} is true`, () => {
    assert.equal(test(text, { sub: "x", roles: [{ a: 1 }], n: 1.5 }), true);
  });
}

for (
  const text of [
    "json('{') == 1",
    "json(1) == 1",
    `json('{"a":1,"b":{"c":1,"c":2}}').a == 1`,
    `json('{"a":1,"\\\\u0061":2}').a == 1`,
    "json(b'\\xff') == 1",
    "json('[' + strings.quote(jwt.a) + ']')[1] == 'x'",
    "'a' in json('{\"b\":{\"a\":false}}').b",
    "toJson(timestamp('2026-01-02T03:04:05Z')) == ''",
    "toJson(1.0 / 0.0) == ''",
    "base64.decode('*') == b''",
    "cidr(jwt.a).containsIP('10.0.0.1')",
    "cidr('10.0.0.0/8').containsIP(jwt.a)",
    "ip(jwt.a) == jwt.a",
    "base64.encode(1) == ''",
    "url.decode('%') == ''",
  ]
) {
  Deno.test(`${text} fails`, () => {
    assert.equal(test(text, { a: "x" }), "failure");
  });
}

Deno.test("JSON that is nested too deep, or has too many values, fails", () => {
  const deep = "[".repeat(40) + "]".repeat(40);
  const many = JSON.stringify(Array.from({ length: 30_000 }, () => 1));
  assert.equal(test("json(jwt.a) != 1", { a: deep }), "failure");
  assert.equal(test("json(jwt.a) != 1", { a: many }), "failure");
  const names = Array.from({ length: 10_001 }, (_, i) => `"${i}":1`).join(",");
  assert.equal(test("json(jwt.a) != 1", { a: `{${names}}` }), "failure");
});

for (
  const [text, message] of [
    ["cidr('10.0.0.0/33').containsIP(source.address)", "range"],
    ["cidr('10.0.0.0').containsIP(source.address)", "range"],
    ["cidr('10.0.0.0/8').containsIP('10.0.0.256')", "IP address"],
    ["ip('localhost') == source.address", "IP address"],
    ["source.port.containsIP('10.0.0.1')", "number has no containsIP()"],
  ] as const
) {
  Deno.test(`${text} is rejected when it is compiled`, () => {
    const compiled = compileExpression(text);

    assert.ok(!(compiled instanceof Expression));
    assert.match(compiled.message, new RegExp(message.replace("()", "\\(\\)")));
  });
}
