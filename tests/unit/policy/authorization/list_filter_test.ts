import assert from "node:assert/strict";
import { GatewayError } from "../../../../src/base/errors.ts";
import { textBody } from "../../../../src/http/body.ts";
import type { PolicyContext } from "../../../../src/policy/contract/policy.ts";
import { jwtClaims } from "../../../../src/policy/authentication/request_identity.ts";
import { fc } from "../../../harness/parsers/properties.ts";
import { authorization } from "../authorization.ts";
import { context, headersOf, responseOf } from "../exchange.ts";
import { response } from "../exchange.ts";

interface Listing {
  readonly list?: "tools" | "prompts" | "resources" | "resourceTemplates";
  readonly claims?: Record<string, unknown>;
  readonly action?: "Allow" | "Deny";
  readonly headers?: Readonly<Record<string, string>>;
}

const methods = {
  tools: ["tools/list", "name", "tools/call", "name"],
  prompts: ["prompts/list", "name", "prompts/get", "name"],
  resources: ["resources/list", "uri", "resources/read", "uri"],
  resourceTemplates: ["resources/templates/list", "uriTemplate", "", ""],
} as const;

/** A request that has a body. */
function request(
  method: string,
  params: unknown,
  { claims, headers = {} }: Listing,
): PolicyContext & ReturnType<typeof context> {
  const on = context({ method: "POST", target: "/mcp", headers });
  if (claims !== undefined) on.slots.set(jwtClaims, claims);
  const message = { jsonrpc: "2.0", id: 1, method, params };
  on.request.body = textBody(JSON.stringify(message));
  return on;
}

/** Returns the response to a request for a list, or the status of its denial. */
async function list(
  rules: readonly string[],
  body: string,
  listing: Listing = {},
  headers: Readonly<Record<string, string>> = {},
) {
  const policy = authorization(rules, listing.action);
  const on = request(methods[listing.list ?? "tools"][0], {}, listing);
  const denied = responseOf(await policy.onRequest?.(on));
  if (denied !== undefined) return { on, body: String(denied.status), headers };
  const answered = response({ "content-type": "application/json", ...headers });
  answered.body = textBody(body);
  await policy.onResponse?.(on, answered);
  let text = "";
  for (
    let chunk = await answered.body.read();
    chunk;
    chunk = await answered.body.read()
  ) {
    text += new TextDecoder().decode(chunk);
  }
  return { on, body: text, headers: headersOf(answered) };
}

function items(name: keyof typeof methods, ids: readonly string[]): string {
  const [, identifier] = methods[name];
  const all = ids.map((id) => ({ [identifier]: id }));
  return JSON.stringify({ id: 1, result: { [name]: all } });
}

/** Returns the identifiers of the items that are left. */
async function left(
  rules: readonly string[],
  ids: readonly string[],
  listing: Listing = {},
): Promise<readonly string[] | string> {
  const name = listing.list ?? "tools";
  const { body } = await list(rules, items(name, ids), listing);
  if (body === "403") return body;
  const { result } = JSON.parse(body);
  return result[name].map((item: Record<string, string>) =>
    item[methods[name][1]]
  );
}

const isFor = "!has(mcp.tool) || ";
for (
  const [rule, expected] of [
    [`${isFor}mcp.tool.name == 'a'`, ["a"]],
    [`${isFor}mcp.tool.name != 'a'`, ["b", "c"]],
    [`${isFor}mcp.tool.name in ['a', 'c']`, ["a", "c"]],
    [`${isFor}mcp.tool.name.startsWith('b')`, ["b"]],
    [`${isFor}mcp.tool.name in jwt.tools`, ["c"]],
    [`${isFor}mcp.tool.name in jwt.missing`, []],
    ["has(mcp.prompt) || !has(mcp.tool)", []],
    // Rules about something else leave tools alone.
    ["!has(mcp.prompt) || mcp.prompt.name == 'x'", ["a", "b", "c"]],
    ["request.method == 'POST'", ["a", "b", "c"]],
    ["has(mcp.tool)", "403"],
    // The arguments are not known: a tool stays that could be called with some.
    [`${isFor}mcp.tool.arguments.n == 1`, ["a", "b", "c"]],
    [`${isFor}mcp.tool.name == 'a' && mcp.tool.arguments.n == 1`, ["a"]],
    [`${isFor}mcp.tool.name == 'a' || has(mcp.tool.arguments.n)`, [
      "a",
      "b",
      "c",
    ]],
    [
      `${isFor}(mcp.tool.name == 'a' ? mcp.tool.arguments.n == 1 : mcp.tool.name == 'b')`,
      ["a", "b"],
    ],
    [`${isFor}toJson(mcp.tool.arguments).contains('x')`, ["a", "b", "c"]],
    [`${isFor}mcp.methodName == 'tools/call' && mcp.sessionId == 's'`, [
      "a",
      "b",
      "c",
    ]],
    [
      `${isFor}request.method == 'POST' && request.path == '/mcp' && request.headers['x-team'] == 'blue'`,
      ["a", "b", "c"],
    ],
  ] as const
) {
  Deno.test(`of the tools a, b and c, ${rule} leaves ${expected}`, async () => {
    const listing = {
      claims: { tools: ["c"] },
      headers: { "mcp-session-id": "s", "x-team": "blue" },
    };

    assert.deepEqual(await left([rule], ["a", "b", "c"], listing), expected);
  });
}

Deno.test("Deny hides the tools for which a rule is true or errors", async () => {
  const rules = [
    "has(mcp.tool) && mcp.tool.name == 'a'",
    "has(mcp.tool) && mcp.tool.name in jwt.banned",
  ];
  const listing = { action: "Deny", claims: { banned: ["b"] } } as const;

  assert.deepEqual(await left(rules, ["a", "b", "c"], listing), ["c"]);
  const withoutClaim = { action: "Deny", claims: {} } as const;
  assert.deepEqual(await left(rules, ["a", "b", "c"], withoutClaim), []);
});

for (
  const [name, rule, ids, expected] of [
    ["prompts", "!has(mcp.prompt) || mcp.prompt.name == 'a'", ["a", "b"], [
      "a",
    ]],
    [
      "resources",
      "!has(mcp.resource) || mcp.resource.name.startsWith('file:///a')",
      ["file:///a/b", "file:///b"],
      ["file:///a/b"],
    ],
    // Which URIs a client makes of a template is known up to its first variable.
    ...[
      ["mcp.resource.name == 'a:b'", ["a:{x}"]],
      ["'a:b' == mcp.resource.name", ["a:{x}"]],
      ["mcp.resource.name != 'a:b'", ["a:{x}", "a:/c/{+y}", "b:{x}"]],
      ["mcp.resource.name.startsWith('a:')", ["a:{x}", "a:/c/{+y}"]],
      ["mcp.resource['name'].startsWith('a:/c/d')", ["a:{x}", "a:/c/{+y}"]],
      ["!mcp.resource.name.startsWith('a:')", ["b:{x}"]],
      ["!mcp.resource.name.startsWith('a:/')", ["a:{x}", "b:{x}"]],
      ["mcp.resource.name in ['a:b', 'b']", ["a:{x}"]],
      ["mcp.resource.name in jwt.uris", ["a:{x}", "a:/c/{+y}"]],
      ["mcp.resource.name in jwt.roles", []],
      ["mcp.resource.name.endsWith('z')", ["a:{x}", "a:/c/{+y}", "b:{x}"]],
      ["mcp.resource.name.startsWith('b') && mcp.resource.name.endsWith('z')", [
        "b:{x}",
      ]],
      ["jwt.uris.exists(u, mcp.resource.name == u)", ["a:{x}", "a:/c/{+y}"]],
      ["'r' in jwt.roles && mcp.resource.name == 'a:b'", []],
    ].map(([rule, expected]) =>
      [
        "resourceTemplates",
        `!has(mcp.resource) || (${rule})`,
        ["a:{x}", "a:/c/{+y}", "b:{x}"],
        expected,
      ] as const
    ),
  ] as const
) {
  Deno.test(`of the ${name} ${ids}, ${rule} leaves ${expected}`, async () => {
    const listing = { list: name, claims: { roles: [], uris: ["a:/c/d"] } };

    assert.deepEqual(await left([rule], ids, listing), expected);
  });
}

const names = ["a", "b", "ab", "é", ""] as const;
const text = fc.constantFrom(
  "'a'",
  "'b'",
  "'é'",
  "jwt.sub",
  "mcp.tool.name",
  "jwt.none",
);
const condition = fc.letrec<{ rule: string; atom: string }>((tie) => ({
  rule: fc.oneof(
    { maxDepth: 3 },
    tie("atom"),
    fc.tuple(tie("rule"), tie("rule")).map(([a, b]) => `(${a} && ${b})`),
    fc.tuple(tie("rule"), tie("rule")).map(([a, b]) => `(${a} || ${b})`),
    tie("rule").map((a) => `!(${a})`),
    fc.tuple(tie("rule"), tie("rule"), tie("rule")).map(([a, b, c]) =>
      `(${a} ? ${b} : ${c})`
    ),
  ),
  atom: fc.oneof(
    fc.tuple(text, text).map(([a, b]) => `${a} == ${b}`),
    fc.tuple(text, text).map(([a, b]) => `${a}.startsWith(${b})`),
    text.map((a) => `${a} in jwt.tools`),
    text.map((a) => `jwt.tools.exists(t, t == ${a})`),
    fc.constantFrom(
      "has(mcp.tool)",
      "has(jwt.none)",
      "mcp.methodName == 'tools/call'",
      "request.method == 'POST'",
    ),
  ),
})).rule;

Deno.test("a tool is listed if and only if a call of it is allowed", async () => {
  let hidden = 0;
  let shown = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(condition, { minLength: 1, maxLength: 3 }),
      fc.constantFrom("Allow", "Deny"),
      fc.record({
        sub: fc.constantFrom(...names),
        tools: fc.oneof(fc.subarray([...names]), fc.constant("a")),
      }),
      async (rules, action, claims) => {
        // Every policy is about tools, and lets everybody list them.
        const all = rules.map((rule) =>
          action === "Allow"
            ? `!has(mcp.tool) || (${rule})`
            : `has(mcp.tool) && (${rule})`
        );
        const listed = await left(all, names, { claims, action });
        const policy = authorization(all, action);
        const callable: string[] = [];
        for (const name of names) {
          const on = request("tools/call", { name }, { claims });
          if (await policy.onRequest?.(on) === undefined) callable.push(name);
        }

        assert.deepEqual(listed, callable);
        shown += callable.length;
        hidden += names.length - callable.length;
      },
    ),
    { numRuns: 500 },
  );
  assert.ok(shown > 200 && hidden > 200, `${shown} shown, ${hidden} hidden`);
});

const onlyA = [`${isFor}mcp.tool.name == 'a'`];

Deno.test("the upstream is asked for a list without content coding, and for others as the client wants", async () => {
  const policy = authorization(onlyA);
  const encodings: Record<string, string | undefined> = {};
  for (const method of ["tools/list", "prompts/list", "tools/call"]) {
    const on = request(method, { name: "a" }, {
      headers: { "accept-encoding": "br" },
    });
    await policy.onRequest?.(on);
    encodings[method] = on.request.headers.getJoined("accept-encoding");
  }

  assert.deepEqual(encodings, {
    "tools/list": "identity",
    "prompts/list": "br",
    "tools/call": "br",
  });
});

Deno.test("a list is for one user: no shared cache may store it, and what described the longer one is gone", async () => {
  const { headers } = await list(onlyA, items("tools", ["a", "b"]), {}, {
    "cache-control": "public, max-age=60, S-MaxAge=600",
    etag: '"1"',
    "content-digest": "sha-256=:AAAA:",
    "content-length": "999",
  });

  assert.deepEqual(headers, {
    "content-type": "application/json",
    "cache-control": "private, max-age=60",
    "content-length": "42",
  });
});

for (
  const [what, body, headers] of [
    ["is no JSON", "tools", {}],
    ["has a tool without a name", '{"result":{"tools":[{}]}}', {}],
    ["is too long", " ".repeat((1 << 20) + 1), {}],
    ["is compressed", items("tools", []), { "content-encoding": "gzip" }],
    ["is UTF-16", items("tools", []), {
      "content-type": "application/json; charset=utf-16",
    }],
    ["is of another type and no JSON", "<p>", { "content-type": "text/html" }],
  ] as const
) {
  Deno.test(`a list that ${what} is an error, and does not pass`, async () => {
    await assert.rejects(
      () => list(onlyA, body, {}, headers),
      (error) =>
        error instanceof GatewayError && error.code === "list_unreadable" &&
        error.source === "upstream",
    );
  });
}

Deno.test("responses that have no list pass as they are", async () => {
  const policy = authorization(onlyA);
  for (
    const [method, status, type] of [
      ["tools/list", 202, "text/plain"],
      ["tools/list", 401, "application/json"],
      ["tools/call", 200, "application/json"],
      ["prompts/list", 200, "application/json"],
    ] as const
  ) {
    const on = request(method, { name: "a" }, {});
    await policy.onRequest?.(on);
    const answered = response({ "content-type": type }, status);
    const body = textBody(items("tools", ["b"]));
    answered.body = body;
    await policy.onResponse?.(on, answered);

    assert.equal(answered.body, body, method);
    assert.equal(answered.headers.get("cache-control"), undefined);
  }
});

Deno.test("rules judge items by the request as it was when they let it pass", async () => {
  const policy = authorization([
    `${isFor}request.path == '/mcp' && request.headers['x-team'] == 'blue' && jwt.sub == 'anna'`,
  ]);
  const on = request("tools/list", {}, {
    claims: { sub: "anna" },
    headers: { "x-team": "blue" },
  });
  await policy.onRequest?.(on);
  on.request.target = "/";
  on.request.headers.delete("x-team");
  on.slots.set(jwtClaims, undefined);
  const answered = response({ "content-type": "application/json" });
  const body = items("tools", ["a"]);
  answered.body = textBody(body);
  await policy.onResponse?.(on, answered);

  assert.equal(new TextDecoder().decode(await answered.body.read()), body);
});

Deno.test("a stream of events fails with an error for the request, when a list in it cannot be read", async () => {
  const policy = authorization(onlyA);
  const on = request("tools/list", {}, {});
  await policy.onRequest?.(on);
  const answered = response({
    "content-type": "text/event-stream; charset=utf-8",
  });
  answered.body = textBody(
    'data: {"method":"m"}\n\ndata: {"id":1,"result":{"tools":[{}]}}\n\n',
  );
  await policy.onResponse?.(on, answered);

  assert.equal(
    new TextDecoder().decode(await answered.body.read()),
    'data: {"method":"m"}\n\n' +
      'event: message\ndata: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the gateway cannot read the list of the server"}}\n\n',
  );
  assert.equal(await answered.body.read(), undefined);
});

Deno.test("lists in the stream of a GET are filtered by what a POST would be allowed", async () => {
  const policy = authorization([
    `${isFor}request.method == 'POST' && mcp.tool.name == 'a'`,
  ]);
  const on = context({ headers: { accept: "text/event-stream" } });
  await policy.onRequest?.(on);
  assert.equal(on.request.headers.get("accept-encoding"), "identity");
  const answered = response({ "content-type": "text/event-stream" });
  answered.body = textBody(`data: ${items("tools", ["a", "b"])}\n\n`);
  await policy.onResponse?.(on, answered);

  assert.equal(
    new TextDecoder().decode(await answered.body.read()),
    `data: ${items("tools", ["a"])}\n\n`,
  );
});

Deno.test("streams of anything but MCP pass as they are", async () => {
  const policy = authorization(onlyA);
  const on = context({
    method: "POST",
    target: "/v1/chat/completions",
    headers: { accept: "text/event-stream", "accept-encoding": "br" },
  });
  on.request.body = textBody('{"model":"m","stream":true}');
  await policy.onRequest?.(on);
  assert.equal(on.request.headers.get("accept-encoding"), "br");
  const answered = response({ "content-type": "text/event-stream" });
  const body = textBody("data: [DONE]\n\n");
  answered.body = body;
  await policy.onResponse?.(on, answered);

  assert.equal(answered.body, body);
});

Deno.test("a policy without rules about tools, prompts and resources does nothing to responses", () => {
  assert.equal(authorization(["mcp.methodName != 'x'"]).onResponse, undefined);
  assert.equal(authorization(["jwt.sub == 'a'"]).onResponse, undefined);
});
