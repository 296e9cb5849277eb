import assert from "node:assert/strict";
import {
  compileExpression,
  Expression,
} from "../../../../src/policy/cel/expression.ts";

function faultOf(text: string) {
  const compiled = compileExpression(text);
  assert.ok(!(compiled instanceof Expression), `${text} is sound`);
  return compiled;
}

const notOperators: readonly [string, string, string, string][] = [
  ["jwt.role = 'x'", "=", "==", "column 10"],
  ["jwt.role === 'x'", "===", "==", "column 10"],
  ["jwt.role !== 'x'", "!==", "!=", "column 10"],
  ["jwt.role <> 'x'", "<>", "!=", "column 10"],
  ["jwt.roles.exists(r, r = 'x')", "=", "==", "column 23"],
  ["jwt.a == 'x' and jwt.b == 'y'", "and", "&&", "column 14"],
  ["jwt.a == 'x'\nAND jwt.b == 'y'", "AND", "&&", "line 2, column 1"],
  ["(jwt.a) or (jwt.b)", "or", "||", "column 9"],
  ["not jwt.a", "not", "!", "column 1"],
  ["has(jwt.a) && not(jwt.a)", "not", "!", "column 15"],
  ["'a' not in jwt.roles", "not", "!", "column 5"],
  ["jwt.a & jwt.b", "&", "&&", "column 7"],
  ["jwt.a | jwt.b", "|", "||", "column 7"],
];
for (const [text, written, instead, place] of notOperators) {
  Deno.test(`a fault names the operator that was meant: ${text}`, () => {
    const { message, offset } = faultOf(text);

    assert.equal(
      message,
      `unknown operator "${written}" at ${place}; write "${instead}"`,
    );
    assert.ok(text.slice(offset).startsWith(written));
  });
}

const missing: readonly [string, string][] = [
  ["jwt.a == 'x' &&", 'after "&&" at column 14'],
  ["jwt.a == 'x' || \n", 'after "||" at column 14'],
  ["(jwt.a &&) || true", 'after "&&" at column 8'],
  ["jwt.a && || jwt.b", 'after "&&" at column 7'],
  ["jwt.a ==", 'after "==" at column 7'],
  ["&& jwt.a", 'before "&&" at column 1'],
  ["[|| jwt.a]", 'before "||" at column 2'],
  ["jwt.a || // = and\n", 'after "||" at column 7'],
];
for (const [text, place] of missing) {
  Deno.test(`a fault reports that an operand is missing: ${JSON.stringify(text)}`, () => {
    assert.equal(faultOf(text).message, `an operand is missing ${place}`);
  });
}

const unclosed: readonly [string, string][] = [
  ["request.headers['x' == '1'", "[ is not closed at column 16"],
  ["has(jwt.x", "( is not closed at column 4"],
  ["{'a': [1, 2}", "unexpected } at column 12"],
  ["jwt.a)", "unexpected ) at column 6"],
  ["has('abc", "' is not closed at column 5"],
  ["[')', \"(\"] // (\n@", "unexpected @ at line 2, column 1"],
];
for (const [text, message] of unclosed) {
  Deno.test(`a fault points at what is not closed: ${JSON.stringify(text)}`, () => {
    assert.equal(faultOf(text).message, message);
  });
}

for (
  const text of [
    "jwt.and == 'a = b' && jwt.or && !jwt.not",
    '[1].all(and, and == 1) && "not x" != """ and \' """',
    "has(jwt.a) // not = x and y\n",
  ]
) {
  Deno.test(`names and texts are no operators: ${JSON.stringify(text)}`, () => {
    assert.ok(compileExpression(text) instanceof Expression);
  });
}

for (const bracket of ["(", "[", "{", "((1 + [{'a': "]) {
  Deno.test(`hundreds of unclosed ${bracket} are rejected without the parser`, () => {
    assert.match(
      faultOf(bracket.repeat(400)).message,
      /more than 64 brackets inside each other at column \d+$/,
    );
  });
}

Deno.test("brackets in texts, and many that are closed, are no depth", () => {
  const text = `'${"(".repeat(400)}' == jwt.a || ${
    "(1) == (2) || ".repeat(99)
  }true`;
  assert.ok(compileExpression(text) instanceof Expression);
});

Deno.test("the text of a string or comment is not taken for the fault", () => {
  assert.equal(
    faultOf("jwt.a == 'b = c' @").message,
    "unexpected @ at column 18",
  );
  assert.equal(faultOf("jwt.a == 'b = c").offset > 5, true);
});
