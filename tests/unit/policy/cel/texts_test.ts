import assert from "node:assert/strict";
import {
  compileExpression,
  Expression,
} from "../../../../src/policy/cel/expression.ts";
import { EvaluationFailure } from "../../../../src/policy/cel/evaluation_failure.ts";
import { claimsValue } from "../../../../src/policy/cel/values.ts";
import { processorTime } from "../../../harness/time/processor_time.ts";
import { fc } from "../../../harness/parsers/properties.ts";

function evaluate(text: string, claims: Record<string, unknown> = {}) {
  const compiled = compileExpression(text);
  assert.ok(compiled instanceof Expression, JSON.stringify(compiled));
  return compiled.test({ jwt: claimsValue(claims) });
}

for (
  const text of [
    "'hello hello'.replace('he', 'we') == 'wello wello'",
    "'hello hello'.replace('he', 'we', -1) == 'wello wello'",
    "'hello hello'.replace('he', 'we', 1) == 'wello hello'",
    "'hello hello'.replace('he', 'we', 0) == 'hello hello'",
    "'hello'.replace('x', 'y', 9) == 'hello'",
    "'aaa'.replace('a', 'aa') == 'aaaaaa'",
    "'aaa'.replace('aa', '$&') == '$&a'",
    "'abc'.replace('', '-') == '-a-b-c-'",
    "'abc'.replace('', '-', 2) == '-a-bc'",
    "'😀b'.replace('', '-') == '-😀-b-'",
    "'a b c'.split(' ') == ['a', 'b', 'c']",
    "'a b c'.split(' ', -1) == ['a', 'b', 'c']",
    "'a b c'.split(' ', 2) == ['a', 'b c']",
    "'a b c'.split(' ', 1) == ['a b c']",
    "'a b c'.split(' ', 0) == []",
    "'a b c'.split(' ', 9) == ['a', 'b', 'c']",
    "'a😀c'.split('') == ['a', '😀', 'c']",
    "''.split(',') == ['']",
  ]
) {
  Deno.test(`${text} is true`, () => assert.equal(evaluate(text), true));
}

Deno.test("replace and split of all is what JavaScript does for any text", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", ",") });
  fc.assert(fc.property(text, text, (value, old) => {
    fc.pre(old !== "");
    const replaced = value.replaceAll(old, "-");
    const claims = { value, old, replaced, parts: value.split(old) };
    const rule =
      "jwt.value.replace(jwt.old, '-') == jwt.replaced && jwt.value.split(jwt.old) == jwt.parts";
    assert.equal(evaluate(rule, claims), true);
  }));
});

Deno.test("replacing in a long text does not take time that grows with its square", () => {
  const value = "a".repeat(60_000);
  const rule = "jwt.value.replace('a', '0123456789').size() == 600000";
  let result: unknown;
  const took = processorTime(() => result = evaluate(rule, { value }));
  assert.equal(result, true);
  // The library takes half a minute.
  assert.ok(took < 10_000, `${took} ms`);
});

Deno.test("short texts do not make one that fills the memory", () => {
  const value = "a".repeat(30_000);
  const result = evaluate("jwt.value.replace('a', jwt.value) == ''", { value });
  assert.match(String(Reflect.get(Object(result), "message")), /too long/);
});

for (
  const text of [
    "jwt.text.split(',').size() > 0",
    "jwt.text.split('').size() > 0",
    "jwt.text.replace(',', '-') != ''",
    "jwt.text.replace('', '-') != ''",
  ]
) {
  Deno.test(`${text} fails for 100,001 parts or more`, () => {
    const compiled = compileExpression(text);
    assert.ok(compiled instanceof Expression);
    const result = (length: number) =>
      compiled.test({ jwt: claimsValue({ text: ",".repeat(length) }) });

    assert.equal(result(90_000), true);
    assert.ok(result(200_001) instanceof EvaluationFailure);
  });
}
