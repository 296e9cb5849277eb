import assert from "node:assert/strict";
import { createSensitiveHeaders } from "../../../../src/base/redaction.ts";
import {
  compileExpression,
  Expression,
} from "../../../../src/policy/cel/expression.ts";
import { jsonValue } from "../../../../src/policy/cel/values.ts";
import { describeValues } from "../../../../src/policy/authorization/denial_values.ts";

const secrets = {
  hide: (text: string) => text.replaceAll("from-env", "<redacted>"),
  sensitiveHeaders: createSensitiveHeaders(["X-Door"]),
};
const variables = {
  llm: jsonValue({ requestModel: "large" }),
  apiKey: jsonValue({
    models: ["small"],
    team: "red",
    backendSecret: "s3cr3t",
  }),
  jwt: jsonValue({ sub: "anna", scope: "from-env" }),
  request: jsonValue({
    path: "/a",
    pathAndQuery: "/a?access_token=t0ken&b=1",
    headers: {
      "x-door": "open",
      "x-team": "blue",
      authorization: "Bearer abc",
      "x-token-like": "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln",
    },
  }),
  mcp: jsonValue({
    sessionId: "s1",
    tool: { name: "query", arguments: { table: "users", password: "pw" } },
  }),
};

const cases: readonly (readonly [string, Readonly<Record<string, string>>])[] =
  [
    ["llm.requestModel in apiKey.models", {
      "llm.requestModel": '"large"',
      "apiKey.models": '["small"]',
    }],
    ["has(jwt.email) && jwt.email == 'x'", { "jwt.email": "not set" }],
    ["jwt.sub == 'a' || jwt.sub == 'b'", { "jwt.sub": '"anna"' }],
    ["request.headers['x-team'] == apiKey.team", {
      'request.headers["x-team"]': '"blue"',
      "apiKey.team": '"red"',
    }],
    ["request.headers['x-door'] == 'shut'", {
      'request.headers["x-door"]': "<redacted>",
    }],
    ["request.headers.authorization == ''", {
      "request.headers.authorization": "<redacted>",
    }],
    ["request.headers['x-token-like'] == ''", {
      'request.headers["x-token-like"]':
        '"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.<redacted>"',
    }],
    ["apiKey.backendSecret == 'a'", { "apiKey.backendSecret": "<redacted>" }],
    ["request.pathAndQuery == '/'", {
      "request.pathAndQuery": '"/a?access_token=…&b=…"',
    }],
    ["jwt.scope == 'a'", { "jwt.scope": '"<redacted>"' }],
    ["jwt['from-env'] == 'a'", { 'jwt["<redacted>"]': "not set" }],
    ["mcp.sessionId == 's2'", { "mcp.sessionId": "<redacted>" }],
    ["mcp.tool.arguments.table == 'a' && mcp.tool.arguments.password == 'b'", {
      "mcp.tool.arguments.table": '"users"',
      "mcp.tool.arguments.password": "<redacted>",
    }],
    // Whole variables may have more than the rule is about.
    ["toJson(jwt) == '' || toJson(mcp.tool.arguments) == ''", {}],
    ["['a', 'b'].exists(x, x == jwt.sub)", { "jwt.sub": '"anna"' }],
  ];

for (const [rule, expected] of cases) {
  Deno.test(`a denial shows what ${rule} reads, without secrets`, () => {
    const expression = compileExpression(rule);
    assert(expression instanceof Expression);

    const values = describeValues(expression.fieldValues(variables), secrets);

    assert.deepEqual(
      Object.fromEntries(values.map(({ name, value }) => [name, value])),
      expected,
    );
  });
}

Deno.test("long values are cut, and so are long lists of fields", () => {
  const fields = Array.from({ length: 20 }, (_, at) => `jwt.c${at} == 'a'`);
  const expression = compileExpression(fields.join(" || "));
  assert(expression instanceof Expression);
  const jwt = jsonValue({ c0: "x".repeat(1000), c1: "y".repeat(100_000) });

  const values = describeValues(expression.fieldValues({ jwt }), secrets);

  assert.equal(values.length, 8);
  assert.equal(values[0]?.value, `"${"x".repeat(119)}…`);
  assert.equal(values[1]?.value, "too long to be shown");
});
