import assert from "node:assert/strict";
import { authorization, decide, refused } from "./authorization.ts";

const toolCall = JSON.stringify({
  method: "tools/call",
  params: {
    name: "query",
    arguments: { table: "users", limit: 5, nested: { admin: true } },
  },
});
const mcpRules: [string, string][] = [
  ["mcp.sessionId == 's1'", "pass"],
  [
    "mcp.tool.arguments.table == 'users' && mcp.tool.arguments.limit < 9",
    "pass",
  ],
  ["'table' in mcp.tool.arguments", "pass"],
  ["has(mcp.tool.arguments.drop)", refused],
  ["mcp.tool.arguments.drop == 1", refused],
  ["'admin' in mcp.tool.arguments.nested", refused],
  ["!('admin' in mcp.tool.arguments.nested)", refused],
];
for (const [rule, expected] of mcpRules) {
  Deno.test(`authorization decides ${rule}`, async () => {
    const decision = await decide(authorization([rule]), {
      method: "POST",
      headers: { "Mcp-Session-Id": "s1" },
      body: toolCall,
    });
    assert.equal(decision, expected);
  });
}

Deno.test("mcp.sessionId is there without a body and without a session it is not", async () => {
  const policy = authorization(["mcp.sessionId == 's1'"]);
  const headers = { "mcp-session-id": "s1" };
  assert.equal(await decide(policy, { headers }), "pass");
  assert.equal(await decide(policy, {}), refused);
});

for (
  const [args, expected] of [
    ["", "pass"],
    [',"arguments":null', "pass"],
    [',"arguments":[]', refused],
    [',"arguments":"x"', refused],
    [',"Arguments":{}', "bad_request"],
  ] as const
) {
  Deno.test(`a tool call with ${args || "no arguments"} is judged as having none, or rejected`, async () => {
    const body = `{"method":"tools/call","params":{"name":"query"${args}}}`;
    const policy = authorization(["!has(mcp.tool.arguments)"]);
    assert.equal(await decide(policy, { method: "POST", body }), expected);
  });
}

const manyValues = JSON.stringify(Array.from({ length: 40_000 }, () => 1));
const deep = `${"[".repeat(5000)}${"]".repeat(5000)}`;
for (
  const [what, value] of [["many values", manyValues], [
    "levels",
    deep,
  ]] as const
) {
  for (
    const [rule, expected] of [
      ["mcp.tool.name == 'query'", "pass"],
      ["!has(mcp.tool) || mcp.tool.name != 'drop'", "pass"],
      ["!has(mcp.tool) || mcp.tool.name != 'query'", refused],
      ["has(mcp.tool) && has(mcp.tool.arguments)", "pass"],
      ["has(mcp.tool.arguments.a)", "pass"],
      ["mcp.tool.arguments.b == 1", "pass"],
      ["toJson(mcp.tool.arguments.a) != ''", refused],
      ["toJson(mcp.tool) != ''", refused],
    ] as const
  ) {
    Deno.test(`${rule} gives ${expected} for ${what} in an argument that it does not read, or reads`, async () => {
      const args = `{"a":${value},"b":1}`;
      const body =
        `{"method":"tools/call","params":{"name":"query","arguments":${args}}}`;
      const request = { method: "POST", body };
      assert.equal(await decide(authorization([rule]), request), expected);
    });
  }
}

Deno.test("arguments that no rule reads are checked for syntax", async () => {
  const body =
    '{"method":"tools/call","params":{"name":"query","arguments":{"a":[1,]}}}';
  const request = { method: "POST", body };
  const rule = "!has(mcp.tool) || mcp.tool.name == 'query'";
  assert.equal(await decide(authorization([rule]), request), refused);
});

// Whatever the shape of the claim: neither an Allow rule nor a Deny rule lets the request pass.
for (
  const permissions of [
    "x",
    { x: true },
    { x: "x" },
    1,
    null,
    undefined,
    JSON.parse('{"__proto__": ["x"]}'),
  ]
) {
  for (
    const test of [
      "'x' in jwt.permissions",
      "jwt.permissions.exists(p, p == 'x')",
      "jwt.permissions.all(p, p == 'x')",
      "jwt['in'].exists(p, p == 'x')",
    ]
  ) {
    const claims = permissions === undefined
      ? {}
      : { permissions, in: permissions };
    Deno.test(`${test} and its negation reject ${JSON.stringify(claims)}`, async () => {
      for (const rule of [test, `!(${test})`]) {
        for (const action of ["Allow", "Deny"] as const) {
          assert.equal(
            await decide(authorization([rule], action), { claims }),
            refused,
            `${action} ${rule}`,
          );
        }
      }
    });
  }
}

Deno.test("claims of a token's prototype and with names of keywords are found by their own name only", async () => {
  const claims = JSON.parse(
    '{"__proto__": {"permissions": ["x"]}, "in": ["x"], "null": "n"}',
  );
  const decisions = await Promise.all([
    "'x' in jwt.permissions",
    "has(jwt.permissions)",
    "'x' in jwt['in']",
    "jwt['null'] == 'n'",
    "jwt['__proto__'].permissions == ['x']",
  ].map((rule) => decide(authorization([rule]), { claims })));
  assert.deepEqual(decisions, [refused, refused, "pass", "pass", "pass"]);
});
