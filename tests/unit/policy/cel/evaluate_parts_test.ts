import assert from "node:assert/strict";
import { evaluateParts } from "../../../../src/policy/cel/evaluate_parts.ts";

const request = {
  method: "POST",
  path: "/mcp",
  headers: { "X-Team": "blue" },
  startTime: "2026-01-02T03:04:05Z",
};
const jwt = { sub: "ada", roles: ["viewer"] };

/** Returns each part as `text = value`, indented. */
function linesOf(text: string): readonly string[] {
  const result = evaluateParts(text, { request, jwt });
  if ("fault" in result) return [result.fault];
  return result.parts.map(({ text, depth, value, error }) =>
    `${"  ".repeat(depth)}${text} ${
      error === undefined ? `= ${JSON.stringify(value)}` : `! ${error}`
    }`
  );
}

const cases: Readonly<Record<string, readonly string[]>> = {
  'request.headers["x-team"] == "blue" && "admin" in jwt.roles': [
    'request.headers["x-team"] == "blue" && "admin" in jwt.roles = false',
    '  request.headers["x-team"] == "blue" = true',
    '    request.headers["x-team"] = "blue"',
    '  "admin" in jwt.roles = false',
    '    jwt.roles = ["viewer"]',
  ],
  "(1 + 2) * 3 > 8 ? jwt.sub.startsWith('a') : !has(jwt.scope)": [
    '((1 + 2) * 3 > 8) ? jwt.sub.startsWith("a") : !has(jwt.scope) = true',
    "  (1 + 2) * 3 > 8 = true",
    "    (1 + 2) * 3 = 9",
    "      1 + 2 = 3",
    '  jwt.sub.startsWith("a") = true',
    '    jwt.sub = "ada"',
    "  !has(jwt.scope) = true",
    "    has(jwt.scope) = false",
  ],
  "jwt.roles.exists(r, r == 'admin' || r == 'viewer')": [
    'jwt.roles.exists(r, r == "admin" || r == "viewer") = true',
    '  jwt.roles = ["viewer"]',
  ],
  "jwt.scope == 'x' || source.address == '10.0.0.1'": [
    'jwt.scope == "x" || source.address == "10.0.0.1" ! field not found: scope',
    '  jwt.scope == "x" ! field not found: scope',
    "    jwt.scope ! field not found: scope",
    '  source.address == "10.0.0.1" ! a variable has no value in this request',
    "    source.address ! a variable has no value in this request",
  ],
  'request.startTime < timestamp("2027-01-01T00:00:00Z")': [
    'request.startTime < timestamp("2027-01-01T00:00:00Z") = true',
    '  request.startTime = "2026-01-02T03:04:05Z"',
    '  timestamp("2027-01-01T00:00:00Z") = "2027-01-01T00:00:00Z"',
  ],
  "[1.0, 2u, b'a'] == []": [
    '[1.0, 2u, b"a"] == [] = false',
    '  [1.0, 2u, b"a"] = [1,2,"YQ=="]',
    "  [] = []",
  ],
  "jwt.sub != 'x' && !(jwt.roles.exists(r, has(jwt.a)) || false)": [
    'jwt.sub != "x" && !(jwt.roles.exists(r, has(jwt.a)) || false) = true',
    '  jwt.sub != "x" = true',
    '    jwt.sub = "ada"',
    "  !(jwt.roles.exists(r, has(jwt.a)) || false) = true",
    "    jwt.roles.exists(r, has(jwt.a)) || false = false",
    "      jwt.roles.exists(r, has(jwt.a)) = false",
    '        jwt.roles = ["viewer"]',
  ],
  "{'a': [null, -1]}": [
    '{"a": [null, -1]} = {"a":[null,-1]}',
    "  [null, -1] = [null,-1]",
  ],
  "jtw.sub == 'ada'": ['unknown variable "jtw" at column 1'],
  'request.headers["x-TEAM"]': ['request.headers["x-TEAM"] = "blue"'],
  "request.path ==": ['an operand is missing after "==" at column 14'],
};

for (const [text, lines] of Object.entries(cases)) {
  Deno.test(`parts of ${text} have their values`, () => {
    assert.deepEqual(linesOf(text), lines);
  });
}

Deno.test("parts together take as many steps as one expression, and are bounded in number", () => {
  const list = `[${"1,".repeat(20)}1]`;
  const nested =
    `${list}.all(a, ${list}.all(b, ${list}.all(c, ${list}.all(d, a + b + c + d == 4))))`;
  const long = Array.from({ length: 400 }, (_, i) => `request.path == "/${i}"`);

  const [slow] = linesOf(nested);
  const many = evaluateParts(long.join(" || "), { request });

  assert.match(slow ?? "", /! the expression takes too many steps$/);
  assert("parts" in many);
  assert.equal(many.isCut, true);
  assert.equal(many.parts.length, 200);
  assert.match(linesOf("'" + "x".repeat(20_000) + "'")[0] ?? "", /characters$/);
});

Deno.test("claims that are nested too deeply are a fault", () => {
  const deep = JSON.parse(`${"[".repeat(50)}${"]".repeat(50)}`);

  assert.deepEqual(evaluateParts("jwt.a", { jwt: { a: deep } }), {
    fault: "the claims are nested too deeply or too many",
    offset: 0,
  });
});
