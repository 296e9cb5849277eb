import assert from "node:assert/strict";
import {
  compileExpression,
  Expression,
} from "../../../../src/policy/cel/expression.ts";
import { claimsValue, lazyMap } from "../../../../src/policy/cel/values.ts";

function compile(text: string): Expression {
  const compiled = compileExpression(text);
  assert.ok(compiled instanceof Expression, JSON.stringify(compiled));
  return compiled;
}

/** `true`, `false`, or `failure`. */
function test(text: string, claims: Record<string, unknown> = {}) {
  const result = compile(text).test({ jwt: claimsValue(claims) });
  return typeof result === "boolean" ? result : "failure";
}

const holding: [string, Record<string, unknown>][] = [
  ["'a' in jwt.permissions", { permissions: ["b", "a"] }],
  ["'a' in jwt.scope.split(' ')", { scope: "b a" }],
  ["jwt.sub == 'x' && jwt.email.endsWith('@example.com')", {
    sub: "x",
    email: "a@example.com",
  }],
  ["jwt.level >= 3 && jwt.level == 3", { level: 3 }],
  ["jwt.ratio == 0.5", { ratio: 0.5 }],
  ["2 in jwt.levels", { levels: [1, 2] }],
  ["jwt.roles.exists(r, r.startsWith('admin'))", { roles: ["x", "admin:a"] }],
  ["'admin' in jwt.tenants['T1'].roles", {
    tenants: { T1: { roles: ["admin"] } },
  }],
  ["jwt.tenants == {'T1': {'n': 1}} && size(jwt.tenants) == 1", {
    tenants: { T1: { n: 1 } },
  }],
  ["jwt.exists(name, name == 'sub')", { sub: "x" }],
  ["has(jwt.sub) && !has(jwt.act)", { sub: "x" }],
  ["'sub' in jwt", { sub: "x" }],
  ["jwt['https://example.com/roles'] == ['a']", {
    "https://example.com/roles": ["a"],
  }],
  ["jwt.email.lowerAscii() == 'a'", { email: "A" }],
  ["type(jwt.sub) == string", { sub: "x" }],
  ["jwt.email.matches('^[a-z]+@example[.]com$')", { email: "a@example.com" }],
  ["strings.quote(jwt.sub) == '\"x\"'", { sub: "x" }],
  ["'k' in {'k': 1}", {}],
];
for (const [text, claims] of holding) {
  Deno.test(`${text} holds for ${JSON.stringify(claims)}`, () => {
    assert.equal(test(text, claims), true);
  });
}

/** Every way to ask whether `admin` is among the permissions, and whether it is not. */
const memberships = [
  "'admin' in jwt.permissions",
  "jwt.permissions.exists(p, p == 'admin')",
  "jwt.permissions.exists_one(p, p == 'admin')",
  "jwt.permissions.all(p, p == 'admin')",
  "jwt.permissions.filter(p, p == 'admin') == ['admin']",
  "jwt.permissions.map(p, p) == ['admin']",
  "jwt.permissions[0] == 'admin'",
];
const absences = [
  ...memberships.map((text) => `!(${text})`),
  "jwt.permissions.all(p, p != 'admin')",
  "jwt.permissions.filter(p, p == 'admin') == []",
];

// Neither must hold for anything that is not a list.
for (
  const permissions of [
    "admin",
    "a admin b",
    "",
    { admin: true },
    { admin: false },
    {},
    { "__proto__x": 1, "0": "admin" },
    1,
    true,
    null,
    undefined,
  ]
) {
  const claims = permissions === undefined ? {} : { permissions };
  for (const text of [...memberships, ...absences]) {
    Deno.test(`${text} fails for ${JSON.stringify(claims)}`, () => {
      assert.equal(test(text, claims), "failure");
    });
  }
}

Deno.test("a claim whose prototype is a list is no list", () => {
  const claims = JSON.parse(
    '{"permissions": {"__proto__": ["admin"], "length": 1, "0": "admin"}}',
  );
  for (const text of [...memberships, ...absences]) {
    assert.equal(test(text, claims), "failure", text);
  }
});

Deno.test("memberships hold for a list that has the member, absences for one that has not", () => {
  for (const text of memberships) {
    assert.equal(test(text, { permissions: ["admin"] }), true, text);
  }
  for (const text of absences) {
    assert.equal(test(text, { permissions: ["other"] }), true, text);
  }
});

for (
  const text of [
    "jwt.sub",
    "1",
    "null",
    "jwt.missing == 'x'",
    "jwt.sub.missing == 'x'",
    "jwt.sub < 3",
    "jwt.list[9] == 'a'",
    "jwt.sub.matches('(')",
  ]
) {
  Deno.test(`${text} is a failure, not a result`, () => {
    assert.equal(test(text, { sub: "x", list: ["a"] }), "failure");
  });
}

Deno.test("an expression fails when a variable has no value", () => {
  const { message } = compile("jwt.sub == 'x'").test({}) as {
    message: string;
  };
  assert.equal(message, "a variable has no value in this request");
});

Deno.test("claims with names of prototypes and CEL keywords are claims like others", () => {
  const claims = JSON.parse(
    '{"__proto__": {"roles": ["admin"]}, "in": "x", "true": 1, "constructor": "c", "toString": 1}',
  );
  assert.equal(test("jwt['__proto__'].roles == ['admin']", claims), true);
  assert.equal(test("jwt['in'] == 'x' && jwt['true'] == 1", claims), true);
  assert.equal(test("jwt.constructor == 'c'", claims), true);
  assert.equal(test("'admin' in jwt.roles", claims), "failure");
  assert.equal(test("has(jwt.constructor) || has(jwt.hasOwnProperty)"), false);
});

Deno.test("claims that are nested too deep or too many are rejected", () => {
  let deep: unknown = "x";
  for (let i = 0; i < 1000; i++) deep = [deep];
  assert.throws(() => claimsValue({ deep }), RangeError);
  const many = Array.from({ length: 30_000 }, (_, index) => index);
  assert.throws(() => claimsValue({ many }), RangeError);
});

Deno.test("claims are converted once", () => {
  const claims = { sub: "x" };
  assert.equal(claimsValue(claims), claimsValue(claims));
});

Deno.test("a lazy map is read only where the expression asks", () => {
  const read: string[] = [];
  const request = lazyMap(() => ["method", "path"], (name) => {
    read.push(name);
    return name === "method" ? "GET" : undefined;
  });
  const expression = compile("request.method == 'GET'");
  assert.equal(expression.test({ request }), true);
  assert.deepEqual(read, ["method"]);
  assert.equal(compile("size(request) == 1").test({ request }), true);
  assert.equal(
    compile("request.exists(name, request[name] == 'GET')").test({ request }),
    true,
  );
});

const faults: [string, string][] = [
  ["", "unexpected end of input at column 1"],
  ["jwt.a @ 1", "unexpected @ at column 7"],
  ["jwt.in", "reserved keyword at column 5"],
  ["jwt.a\n  && &", 'unknown operator "&" at line 2, column 6; write "&&"'],
  ["jtw.sub == 'x'", 'unknown variable "jtw" at column 1'],
  ["'a' in permissions", 'unknown variable "permissions" at column 8'],
  ["request.metod == 'GET'", 'unknown field of request "metod" at column 9'],
  [
    "jwt.a.exist(x, x == 1)",
    'unknown function "exist" at column 7',
  ],
  ["(".repeat(16_000), ""],
];
for (const [text, message] of faults) {
  Deno.test(`compileExpression explains ${text.slice(0, 30)}`, () => {
    const compiled = compileExpression(text);
    assert.ok(!(compiled instanceof Expression));
    if (message !== "") assert.equal(compiled.message, message);
  });
}

Deno.test("a name of a macro is no variable outside of it", () => {
  compile("jwt.a.all(each, each != '') && [1, 2].map(n, n + 1)[0] == 2");
  const compiled = compileExpression("jwt.a.all(each, true) && each");
  assert.ok(!(compiled instanceof Expression));
  assert.equal(compiled.unknown?.name, "each");
});

Deno.test("an expression knows what it reads", () => {
  assert.deepEqual(
    [...compile("request.path == '/' && mcp.methodName in jwt.m").variables],
    ["request", "mcp", "jwt"],
  );
  assert.equal(compile("'a' in jwt.b").readsOnlyClaims, true);
  assert.equal(compile("request.path in jwt.b").readsOnlyClaims, false);
  assert.equal(compile("true").readsOnlyClaims, false);
});

Deno.test("an expression knows which fields it names, and a variable of a macro has none", () => {
  const reads = (text: string) => compile(text).reads("request.body");
  assert.equal(reads("request.body == ''"), true);
  assert.equal(reads("has(request.body)"), true);
  assert.equal(reads("jwt.a.exists(a, request['body'] == a)"), true);
  assert.equal(reads("response.body == request.path"), false);
  assert.equal(reads("jwt.a.exists(request, request.body == '')"), false);
  assert.equal(reads("jwt.a.exists(request, request['body'] == '')"), false);
  assert.equal(compile("'a' + toJson([1])").isConstant, true);
  assert.equal(compile("env.gateway").isConstant, false);
});
