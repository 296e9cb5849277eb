import assert from "node:assert/strict";
import { textBody } from "../../../../src/http/body.ts";
import { jwtClaims } from "../../../../src/policy/authentication/request_identity.ts";
import { authorization } from "../authorization.ts";
import { context, headersOf, responseOf } from "../exchange.ts";

const rules = [
  "!has(mcp.tool) || mcp.tool.name == 'a'",
  "request.path != '/x'",
];

/** Returns the response to a denied request. */
async function denied(
  body: string | undefined,
  { rule = rules, claims, ...request }: Parameters<typeof context>[0] & {
    rule?: readonly string[];
    claims?: Record<string, unknown>;
  } = {},
) {
  const on = context({
    method: "POST",
    headers: { accept: "application/json, text/event-stream" },
    ...request,
  });
  if (body !== undefined) on.request.body = textBody(body);
  if (claims !== undefined) on.slots.set(jwtClaims, claims);
  const policy = authorization(rule, "Allow", "JsonRpc");
  const response = responseOf(await policy.onRequest?.(on));
  assert.ok(response !== undefined);
  const { status } = response;
  const bytes = await response.body?.read();
  const text = new TextDecoder().decode(bytes);
  return { status, text, headers: headersOf(response) };
}

function call(id: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"b"}}`;
}

function error(id: string, code = -32602): string {
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":"the request is not allowed"}}`;
}

for (const id of ["1", '"a\\u0022b"', "0", '""', "-7"]) {
  Deno.test(`a denied call with the ID ${id} gets a JSON-RPC error with it`, async () => {
    assert.deepEqual(await denied(call(id)), {
      status: 200,
      text: error(id),
      headers: {
        "content-type": "application/json",
        "cache-control": "no-store",
      },
    });
  });
}

Deno.test("a denied request for nothing in particular is an invalid request", async () => {
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  const { status, text } = await denied(body, { target: "/x" });

  assert.deepEqual({ status, text }, { status: 200, text: error("1", -32600) });
});

Deno.test("a rule that reads no message denies with a JSON-RPC error too", async () => {
  const { text } = await denied(call("1"), { rule: ["jwt.sub == 'anna'"] });

  assert.equal(text, error("1", -32600));
});

for (
  const [accept, type, text] of [
    [
      "text/event-stream",
      "text/event-stream",
      `event: message\ndata: ${error("1")}\n\n`,
    ],
    ["text/event-stream, */*", "application/json", error("1")],
    ["*/*", "application/json", error("1")],
  ] as const
) {
  Deno.test(`a client that accepts ${accept} gets the error as ${type}`, async () => {
    const response = await denied(call("1"), { headers: { accept } });

    assert.equal(response.text, text);
    assert.equal(response.headers["content-type"], type);
  });
}

for (
  const [what, body, request] of [
    [
      "a notification",
      '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"b"}}',
      {},
    ],
    ["an ID that is null", call("null"), {}],
    ["an ID that is an object", call('{"a":1}'), {}],
    ["an ID that is long", call(JSON.stringify("x".repeat(2000))), {}],
    ["an ID that occurs twice", call('1,"id":2'), {}],
    ["a batch", `[${call("1")}]`, {}],
    ["no JSON", "tools/call", {}],
    ["no body", undefined, { target: "/x" }],
    ["a GET", undefined, { method: "GET", target: "/x" }],
    ["a message of HTTP+SSE", call("1"), {
      target: "/messages?sessionId=1",
      headers: { accept: "*/*" },
    }],
    ["a message of HTTP+SSE in Python", call("1"), {
      target: "/messages/?session_id=1",
      headers: {},
    }],
  ] as const
) {
  Deno.test(`${what} is denied with 403`, async () => {
    const { status, text } = await denied(body, request);

    assert.equal(status, 403);
    assert.match(text, /"error":"forbidden"/);
  });
}

Deno.test("where a token with more scopes would help, 403 asks for it", async () => {
  const { status, headers } = await denied(call("1"), {
    rule: ["!has(mcp.tool) || 'b' in jwt.scp"],
    claims: { scp: [] },
  });

  assert.equal(status, 403);
  assert.match(headers["www-authenticate"] ?? "", /scope="b"/);
});
