import {
  apiKeyMetadata,
  basicAuthUser,
  jwtClaims,
} from "../../../../src/policy/authentication/request_identity.ts";
import assert from "node:assert/strict";
import { type Body, BytesBody } from "../../../../src/http/body.ts";
import { checkAuthorization } from "../../../../src/policy/authorization/authorization_checks.ts";
import {
  AuthorizationRule,
  evaluateRules,
} from "../../../../src/policy/authorization/authorization_rule.ts";
import { claimsValue } from "../../../../src/policy/cel/values.ts";
import { ChunkedBody } from "../../../harness/clients/chunked_body.ts";
import { processorTime } from "../../../harness/time/processor_time.ts";
import { authorization, decide, refused } from "../authorization.ts";
import { context, responseOf } from "../exchange.ts";

const requestRules: [string, string][] = [
  ["request.method == 'POST'", "pass"],
  ["request.path == '/a/b' && request.pathAndQuery == '/a/b?c=1'", "pass"],
  ["request.uri == 'https://GW.example:8443/a/b?c=1'", "pass"],
  ["request.host == 'gw.example' && request.scheme == 'https'", "pass"],
  ["request.version == 'HTTP/1.1'", "pass"],
  ["request.headers['X-Team'] == 'blue'", "pass"],
  [
    "request.headers['x-team'] == 'blue' && 'x-TEAM' in request.headers",
    "pass",
  ],
  ["'x-none' in request.headers", refused],
  ["request.headers['x-none'] == ''", refused],
  ["source.address == '127.0.0.1' && source.port == 50000", "pass"],
  ["jwt.sub == 'anna'", refused],
  ["!has(jwt.sub)", "pass"],
  ["request.method", refused],
  ["!has(mcp.tool)", "pass"],
  ["request.startTime == timestamp('2026-01-02T03:04:05Z')", "pass"],
  [
    "request.startTime.getHours('Europe/Berlin') == 4 && request.startTime - duration('1h') < request.startTime",
    "pass",
  ],
  ["request.startTime > timestamp('2026-01-02T03:04:05Z')", refused],
  ["env.gateway == 'public'", "pass"],
  ["jwt.rawToken != ''", refused],
];
for (const [rule, expected] of requestRules) {
  Deno.test(`authorization decides ${rule}`, async () => {
    const decision = await decide(authorization([rule]), {
      method: "POST",
      scheme: "https",
      authority: "GW.example:8443",
      target: "/a/b?c=1",
      headers: { "X-Team": "blue" },
    });
    assert.equal(decision, expected);
  });
}

Deno.test("Allow passes when every rule holds and rejects when one does not", async () => {
  const policy = authorization(["jwt.sub == 'anna'", "'a' in jwt.roles"]);
  const decisions = await Promise.all([
    { sub: "anna", roles: ["a"] },
    { sub: "anna", roles: ["b"] },
    { sub: "otto", roles: ["a"] },
    { sub: "anna" },
  ].map((claims) => decide(policy, { claims })));
  assert.deepEqual(decisions, ["pass", refused, refused, refused]);
});

Deno.test("Deny rejects when a rule holds or fails and passes when none does", async () => {
  const policy = authorization(["jwt.banned", "jwt.sub == 'otto'"], "Deny");
  const decisions = await Promise.all([
    { sub: "anna", banned: false },
    { sub: "anna", banned: true },
    { sub: "otto", banned: false },
    { sub: "anna" },
    { sub: "anna", banned: "no" },
  ].map((claims) => decide(policy, { claims })));
  assert.deepEqual(decisions, ["pass", refused, refused, refused, refused]);
});

Deno.test("authorization reads the metadata of the API key and the name of the user", async () => {
  const on = context({});
  on.slots.set(apiKeyMetadata, { team: "blue" });
  on.slots.set(basicAuthUser, { username: "anna" });
  const policy = authorization([
    "apiKey.team == 'blue' && basicAuth.username == 'anna'",
  ]);
  assert.equal(await policy.onRequest?.(on), undefined);
});

for (
  const permissions of ["admin", { admin: true }, 7, null, undefined, true]
) {
  Deno.test(`authorization rejects permissions that are ${JSON.stringify(permissions)}`, async () => {
    const policy = authorization(["'admin' in jwt.permissions"]);
    assert.equal(await decide(policy, { claims: { permissions } }), refused);
  });
}

Deno.test("authorization rejects claims that are too deep", async () => {
  let deep: unknown = 1;
  for (let i = 0; i < 5000; i++) deep = { deep };
  const policy = authorization(["jwt.sub == 'anna'"]);
  const claims = { sub: "anna", deep };
  assert.equal(await decide(policy, { claims }), refused);
});

function challenge(scope: string, url = ""): string {
  return `403 insufficient_scope Bearer ${url}error="insufficient_scope", ` +
    `error_description="the token lacks a scope that the request needs", scope="${scope}"`;
}

const scopeRules: {
  rules: string[];
  claims: Record<string, unknown>;
  expected: string;
}[] = [
  {
    rules: ["'write' in jwt.scope.split(' ')"],
    claims: { scope: "openid read" },
    expected: challenge("openid read write"),
  },
  {
    rules: ["'write' in jwt.scp", "'admin' in jwt.scp && 'read' in jwt.scp"],
    claims: { scp: ["read"] },
    expected: challenge("read write admin"),
  },
  {
    rules: ["'write' in jwt.scopes"],
    claims: {},
    expected: challenge("write"),
  },
  {
    rules: ["'write' in jwt.scp"],
    claims: { scp: ['a"b', "ok", "\u00e9", 7] },
    expected: challenge("ok write"),
  },
  // A new token would be refused like this one.
  {
    rules: ["'write' in jwt.scope"],
    claims: { scope: "write" },
    expected: refused,
  },
  {
    rules: ["'write' in jwt.scp", "'admin' in jwt.roles"],
    claims: { scp: [], roles: [] },
    expected: refused,
  },
  { rules: ["'a' in jwt.roles"], claims: { roles: [] }, expected: refused },
];
const tool = "!has(mcp.tool) || mcp.tool.name != 'drop' || ";
const stepUps: typeof scopeRules = [
  {
    rules: ["jwt.sub == 'anna' && 'a' in jwt.scp"],
    claims: { sub: "anna", scp: [] },
    expected: challenge("a"),
  },
  {
    rules: ["jwt.sub == 'otto' && 'a' in jwt.scp"],
    claims: { sub: "anna", scp: [] },
    expected: refused,
  },
  {
    rules: ["'a' in jwt.scp || 'b' in jwt.scp && 'c' in jwt.scp"],
    claims: { scp: ["x"] },
    expected: challenge("x a"),
  },
  {
    rules: [
      "('a' in jwt.scp || 'b' in jwt.scp) && ('b' in jwt.scp || 'c' in jwt.scp)",
    ],
    claims: {},
    expected: challenge("b"),
  },
  {
    rules: ["has(jwt.scope) && jwt.scope.contains('write')"],
    claims: { scope: "read" },
    expected: challenge("read write"),
  },
  {
    rules: ["has(jwt.scope) ? 'a' in jwt.scope.split(' ') : 'b' in jwt.scp"],
    claims: { scp: ["x"] },
    expected: challenge("x b"),
  },
  {
    rules: ["jwt.scope.split(' ').exists(s, s in ['a', 'b'])"],
    claims: { scope: "" },
    expected: challenge("a"),
  },
  {
    rules: ["jwt.team == 'blue' ? 'a' in jwt.scp : 'b' in jwt.scp"],
    claims: { team: "red", scp: [] },
    expected: challenge("b"),
  },
  {
    rules: [`${tool}('tool:' + mcp.tool.name) in jwt.scope.split(' ')`],
    claims: { scope: "tool:x openid" },
    expected: challenge("tool:x openid tool:drop"),
  },
  {
    rules: [`${tool}'a' in jwt.scp`, "'b' in jwt.scp && 'r' in jwt.roles"],
    claims: { scp: ["b"], roles: ["r"] },
    expected: challenge("b a"),
  },
  // A scope that another rule forbids is not in the challenge.
  {
    rules: ["'a' in jwt.scp", "!('a' in jwt.scp)"],
    claims: { scp: [] },
    expected: refused,
  },
  // The scope that helps is not the first that the rules name.
  {
    rules: ["'a' in jwt.scp || 'b' in jwt.scp", "!('a' in jwt.scp)"],
    claims: { scp: [] },
    expected: challenge("b"),
  },
  // The token has its scopes in another claim: so will the next one.
  {
    rules: ["'a' in jwt.scp"],
    claims: { scope: "openid" },
    expected: refused,
  },
  {
    rules: ["jwt.scope.split(' ').exists(s, s.startsWith('files:'))"],
    claims: { scope: "openid" },
    expected: challenge("openid files:read"),
  },
  {
    rules: ["jwt.scope.matches('^admin$')"],
    claims: { scope: "openid" },
    expected: refused,
  },
  {
    rules: ["jwt.missing == 'x' && 'a' in jwt.scp"],
    claims: { scp: [] },
    expected: refused,
  },
];
for (const { rules, claims, expected } of stepUps) {
  Deno.test(`a call with ${JSON.stringify(claims)} under ${rules} gets ${expected.slice(0, 25)}`, async () => {
    const decision = await decide(authorization(rules), {
      claims,
      body: call("drop"),
      isMcp: true,
      scopesSupported: ["openid", "files:read", "files:write"],
    });
    assert.equal(
      decision.replace('resource_metadata="https://gw/meta", ', ""),
      expected,
    );
  });
}

Deno.test("Deny asks for the scopes without which a rule is true", async () => {
  const rules = ["has(mcp.tool) && !('a' in jwt.scp)", "jwt.sub == 'otto'"];
  const policy = authorization(rules, "Deny");
  const body = call("drop");
  assert.equal(
    await decide(policy, { claims: { sub: "anna", scp: ["x"] }, body }),
    challenge("x a"),
  );
  assert.equal(
    await decide(policy, { claims: { sub: "otto", scp: ["x"] }, body }),
    refused,
  );
});

for (
  const [rules, action, expected] of [
    [["'a' in jwt.scope.split(' ')"], "Allow", ["a"]],
    [["'a' in jwt.scp && 'r' in jwt.roles", "'b' in jwt.scp"], "Allow", [
      "a",
      "b",
    ]],
    [["'a' in jwt.scope"], "Allow", ["a"]],
    [[`${tool}'a' in jwt.scp`], "Allow", []],
    [["request.method == 'GET' || 'a' in jwt.scp"], "Allow", []],
    [["'r' in jwt.roles"], "Allow", []],
    [["('x:' + request.method) in jwt.scp"], "Allow", []],
    [["'a' in jwt.scp && !('a' in jwt.scp)"], "Allow", []],
    [["!('a' in jwt.scp)"], "Deny", ["a"]],
    [["'a' in jwt.scp"], "Deny", []],
  ] as const
) {
  Deno.test(`${action} ${rules} demands ${expected.join(" ") || "no scopes"} of every request`, () => {
    assert.deepEqual(authorization(rules, action).requiredScopes, expected);
  });
}

Deno.test("finding scopes takes bounded work, whatever token and rules are", () => {
  const roles = Array.from({ length: 100 }, (_, i) => `r${i}`);
  const scopes = Array.from({ length: 200 }, (_, i) => `'s${i}' in jwt.scp`);
  const nested = "jwt.roles.all(r, jwt.roles.all(s, r != '' && s != ''))";
  for (
    const rules of [
      scopes.map((rule) => `${rule} || ${rule.replace("scp", "scopes")}`),
      scopes.slice(0, 20).map((rule) => `${nested} && ${rule}`),
      [scopes.join(" && ")],
    ]
  ) {
    const policy = authorization(rules);
    const on = context({});
    on.slots.set(jwtClaims, { roles, scp: [] });
    let response: ReturnType<typeof responseOf>;
    const time = processorTime(() => {
      const verdict = policy.onRequest?.(on);
      assert.ok(!(verdict instanceof Promise));
      response = responseOf(verdict);
    });

    assert.equal(response?.headers.get("www-authenticate"), undefined);
    assert.ok(time < 1000, `${time} ms`);
  }
});

for (const { rules, claims, expected } of scopeRules) {
  Deno.test(`authorization answers ${expected.slice(0, 25)} to ${JSON.stringify(claims)} for ${rules}`, async () => {
    assert.equal(await decide(authorization(rules), { claims }), expected);
  });
}

Deno.test("the challenge for a scope names the metadata of an MCP route", async () => {
  const policy = authorization(["'write' in jwt.scp"]);
  assert.equal(
    await decide(policy, { claims: {}, isMcp: true }),
    challenge("write", 'resource_metadata="https://gw/meta", '),
  );
});

Deno.test("no token and a rule that denies get no challenge", async () => {
  const rule = "'write' in jwt.scp";
  assert.equal(await decide(authorization([rule])), refused);
  const denying = authorization([rule], "Deny");
  assert.equal(
    await decide(denying, { claims: { scp: ["write"] } }),
    refused,
  );
});

Deno.test("rules that read only claims are decided once per token", () => {
  const rules = ["'a' in jwt.roles", "request.path in jwt.roles"].map((text) =>
    new AuthorizationRule(text, (shown) => shown)
  );
  const claims = { roles: ["a"] };
  let reads = 0;
  const variables = {
    get jwt() {
      reads++;
      return claimsValue(claims);
    },
    request: claimsValue({ path: "a" }),
  };
  for (let i = 0; i < 3; i++) {
    const results = evaluateRules(rules, variables, claims);
    assert.deepEqual(
      results.map(({ rule, result }) => [rule.shown, result]),
      [["'a' in jwt.roles", true], ["request.path in jwt.roles", true]],
    );
  }
  assert.equal(reads, 1 + 3);
});

function call(name: unknown, method = "tools/call"): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { name } });
}

const messages: [string, string, string][] = [
  ["mcp.methodName == 'tools/call'", call("search"), "pass"],
  ["mcp.tool.name == 'search'", call("search"), "pass"],
  ["mcp.tool.name == 'search'", call("drop"), refused],
  ["!has(mcp.tool) || mcp.tool.name == 'search'", call("", "ping"), "pass"],
  ["!has(mcp.tool) || mcp.tool.name == 'search'", "", "pass"],
  ["!has(mcp.tool) || mcp.tool.name == 'search'", "not JSON", refused],
  ["!has(mcp.tool)", call({}), refused],
  ["!has(mcp.tool)", `[${call("drop")}]`, refused],
  ["!has(mcp.tool)", '{"method": ["tools/call"]}', refused],
  [
    "!has(mcp.tool)",
    '{"method":"ping","Method":"tools/call","params":{"name":"drop"}}',
    "bad_request",
  ],
  [
    "mcp.tool.name == 'search'",
    '{"method":"tools/call","params":{"name":"search"},"paramſ":{"name":"drop"}}',
    "bad_request",
  ],
  [
    "mcp.tool.name == 'search'",
    '{"method":"tools/call","params":{"name":"drop","name":"search"}}',
    "bad_request",
  ],
  ["!has(mcp.tool)", '{"jsonrpc":"2.0","id":1,"result":{}}', "pass"],
  ["!has(mcp.tool)", call("x", "__proto__"), "pass"],
  [
    "mcp.tool.arguments.path == '/a'",
    '{"method":"tools/call","params":{"name":"x","arguments":{"path":"/a","path":"/b"}}}',
    "bad_request",
  ],
  [
    "mcp.tool.arguments.path == '/a'",
    '{"method":"tools/call","params":{"name":"x","arguments":{"path":"/a","x":1,"x":2}}}',
    "pass",
  ],
  ["mcp.prompt.name == 'p'", call("p", "prompts/get"), "pass"],
  [
    "mcp.resource.name == 'file:///a'",
    '{"method":"resources/read","params":{"uri":"file:///a"}}',
    "pass",
  ],
  [
    "!has(mcp.tool) && !has(mcp.resource)",
    '{"method":"resources/subscribe","params":{}}',
    "pass",
  ],
  ["!has(mcp.tool)", '{"method":"resources/read","params":{"uri":1}}', refused],
  ["!has(mcp.tool)", "\ufeff" + call("", "ping"), refused],
  ["true || !has(mcp.tool)", " ".repeat((1 << 20) + 1), refused],
  ["!has(mcp.tool)", " ".repeat((1 << 20) + 1), refused],
];
for (const [rule, body, expected] of messages) {
  Deno.test(`authorization decides ${rule} for ${body.slice(0, 60)}`, async () => {
    assert.equal(await decide(authorization([rule]), { body }), expected);
  });
}

async function textOf(body: Body | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const chunk = await body?.read();
    if (chunk === undefined) return text;
    text += decoder.decode(chunk, { stream: true });
  }
}

Deno.test("a body that was looked into goes on unchanged, also after two policies and when it is too long", async () => {
  const policy = authorization(["true || !has(mcp.tool)"]);
  const long = Array.from(
    { length: 40 },
    (_, i) => String(i).padEnd(1 << 15, "."),
  );
  for (const chunks of [["{", '"method":', '"ping"}'], [], long]) {
    const on = context({});
    on.request.body = new ChunkedBody(...chunks);
    await policy.onRequest?.(on);
    await policy.onRequest?.(on);
    assert.equal(on.request.body.length, undefined);
    assert.equal(await textOf(on.request.body), chunks.join(""));
  }
});

Deno.test("a body is not read when no rule reads it", () => {
  const body = new BytesBody(new Uint8Array(1));
  const on = context({});
  on.request.body = body;
  const policy = authorization(["request.method == 'GET'"]);
  assert.equal(policy.onRequest?.(on), undefined);
  assert.equal(on.request.body, body);
});

Deno.test("checkAuthorization locates bad rules and suggests names", () => {
  const problems = checkAuthorization({
    action: "Allow",
    denial: "Http403",
    policy: {
      matchExpressions: ["true", "jtw.sub == 'a'", "a b", "backend.name == ''"],
    },
  }, { hide: (text) => text });
  assert.deepEqual(problems, [
    {
      path: ["policy", "matchExpressions", 1],
      message: 'Cannot use the expression: unknown variable "jtw" at column 1',
      offset: 0,
      suggestion: "jwt",
    },
    {
      path: ["policy", "matchExpressions", 2],
      message: "Cannot use the expression: unexpected b at column 3",
      offset: 2,
    },
    {
      path: ["policy", "matchExpressions", 3],
      message:
        'Cannot use "backend" in a rule: rules run before a backend is chosen',
    },
  ]);
});
