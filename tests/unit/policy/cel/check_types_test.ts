import assert from "node:assert/strict";
import {
  compileExpression,
  Expression,
} from "../../../../src/policy/cel/expression.ts";

const mistakes: Readonly<Record<string, string>> = {
  "'a' + 1 == 2":
    'cannot apply "+" to a string and a number at column 5; convert one of them with int() or string()',
  'request.headers["content-length"] == 5':
    "a string never equals a number at column 35; convert one of them with int() or string()",
  "request.path == true": "a string never equals a boolean at column 14",
  "size(request.path) != '3'":
    "a number never equals a string at column 20; convert one of them with int() or string()",
  "source.port > '1024'":
    'cannot apply ">" to a number and a string at column 13; convert one of them with int() or string()',
  "request.path && true":
    'cannot apply "&&" to a string and a boolean at column 1',
  "jwt.admin && request.method": 'cannot apply "&&" to a string at column 1',
  "!request.path": 'cannot apply "!" to a string at column 1',
  "true + jwt.a == jwt.b": 'cannot apply "+" to a boolean at column 6',
  "request.path - 1 == 2":
    'cannot apply "-" to a string and a number at column 14',
  "1 ? true : false": 'the condition of "?:" is a number at column 1',
  "'a' in request.path": 'cannot look into a string with "in" at column 5',
  "source.port.startsWith('8')": "a number has no startsWith() at column 12",
  "[1].all(x, 'a' < 1)":
    'cannot apply "<" to a string and a number at column 16; convert one of them with int() or string()',
  "{} < {}": 'cannot apply "<" to a map and a map at column 4',
};

for (const [text, message] of Object.entries(mistakes)) {
  Deno.test(`${text} is a mistake of types`, () => {
    const compiled = compileExpression(text);
    assert(!(compiled instanceof Expression));
    assert.equal(compiled.message, message);
  });
}

const sound = [
  "'a' + 'b' == request.path",
  "jwt.a + 1 == 2",
  "1 + 1.5 == 2.5",
  "1 == 1.0",
  "request.path == null",
  "null != request.path",
  "jwt.exp > 5",
  "'a' in jwt.roles",
  "'x-a' in request.headers",
  "'a' in request.headers.x",
  'request.headers["x"] == ["a", "b"]',
  'request.headers.x.exists(v, v == "a")',
  'request.headers["x"].startsWith("a")',
  "request.startTime - duration('1h') < timestamp('2026-01-01T00:00:00Z')",
  "timestamp('2026-01-01T00:00:00Z') - request.startTime > duration('1h')",
  "request.startTime + duration('1h') > request.startTime",
  "-duration('1h') < duration('1h')",
  "request.startTime > timestamp('2026-01-01T00:00:00Z')",
  "[1] + [2] == [1, 2]",
  "b'a' + b'b' == b'ab'",
  "jwt.list.exists(request, request == 1)",
  "jwt.list.exists(source, source.port == 'a')",
  "[1, 2].map(x, x * 2) == [2, 4]",
  "(jwt.a ? 1 : 'a') == 'a'",
  "double(1) == 1.0 && int('1') == 1",
];

for (const text of sound) {
  Deno.test(`${text} has sound types`, () => {
    const compiled = compileExpression(text);
    assert(compiled instanceof Expression, JSON.stringify(compiled));
  });
}
