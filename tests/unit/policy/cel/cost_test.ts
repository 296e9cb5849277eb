import assert from "node:assert/strict";
import {
  compileExpression,
  Expression,
} from "../../../../src/policy/cel/expression.ts";
import { EvaluationFailure } from "../../../../src/policy/cel/evaluation_failure.ts";
import { claimsValue } from "../../../../src/policy/cel/values.ts";
import { processorTime } from "../../../harness/time/processor_time.ts";

/** As long as a client can make a header. */
const list = Array.from({ length: 9000 }, (_, index) => `i${index % 7}`);
const jwt = claimsValue({
  csv: list.join(","),
  json: JSON.stringify(list),
  text: "x".repeat(1 << 20),
  words: list.slice(0, 1000),
  roles: ["reader", "writer"],
});

function evaluate(text: string) {
  const compiled = compileExpression(text);
  assert.ok(compiled instanceof Expression, JSON.stringify(compiled));
  return compiled.test({ jwt });
}

for (
  const text of [
    "jwt.csv.split(',').all(x, jwt.csv.split(',').all(y, x != 'z'))",
    "json(jwt.json).exists(x, json(jwt.json).exists(y, y == 'z'))",
    "jwt.words.all(x, jwt.words.all(y, !((x + y) in jwt.words)))",
    "jwt.words.filter(x, jwt.words.exists_one(y, y == x)) == []",
    "jwt.words.map(x, jwt.words.map(y, x)).size() > 1",
    "jwt.words.all(x, jwt.text.matches(x + 'a*b') == false)",
    // Whatever else would make it true.
    "jwt.words.all(x, jwt.words.all(y, false || y != 'z')) || true",
    "jwt.words.exists(x, jwt.words.all(y, y != 'z') && x == 'z') || true",
  ]
) {
  Deno.test(`${text} fails when it takes too many steps`, () => {
    let result: unknown;
    const took = processorTime(() => result = evaluate(text));
    assert.ok(result instanceof EvaluationFailure, String(result));
    assert.equal(result.message, "the expression takes too many steps");
    assert.equal(result.withoutValues(text), result.message);
    // Without a bound most of these take minutes.
    assert.ok(took < 5000, `${took} ms`);
  });
}

for (
  const text of [
    "jwt.roles.all(r, ['reader', 'writer'].exists(k, k == r))",
    "jwt.csv.split(',').all(x, x.startsWith('i') && x != 'z')",
    "json(jwt.json).map(x, x + '!').filter(x, x == 'i3!').size() > 1000",
    "jwt.csv.split(',').map(x, x).map(x, x).exists(x, x == 'i6')",
    "jwt.words.map(x, jwt.words.size()).all(n, n == 1000)",
    "jwt.roles.join('-') == 'reader-writer' && jwt.roles.join() != ''",
    "jwt.words.map(x, [x]) == jwt.words.map(x, [x])",
    "jwt.roles.map(r, jwt.roles.map(s, s + r))[1][0] == 'readerwriter'",
    "jwt.roles.filter(r, r == 'writer') + ['a'] == ['writer', 'a']",
    "jwt.roles.filter(r, false) == [] && jwt.roles.map(r, r) != []",
  ]
) {
  Deno.test(`${text} stays within what an evaluation may cost, each time`, () => {
    for (let time = 0; time < 12; time++) assert.equal(evaluate(text), true);
  });
}

for (
  const [text, message] of [
    [
      "jwt.words.map(x, jwt.text).join() == ''",
      /result of join\(\) is too long/,
    ],
    ["toJson(jwt.words.map(x, jwt.text)) == ''", /too large for JSON/],
    ["jwt.words.map(x, 1).join() == ''", /works on lists of strings/],
  ] as const
) {
  Deno.test(`${text} makes no text without bounds`, () => {
    const result = evaluate(text);
    assert.ok(result instanceof EvaluationFailure, String(result));
    assert.match(result.message, message);
  });
}
