import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { keyedPolicies } from "../../harness/keys/stored_keys.ts";

const adminToken = "0123456789abcdef";
const routes = [{ name: "r", policies: keyedPolicies }];

function start(config: object): Promise<GatewayProcess> {
  return GatewayProcess.start({ config: { config, routes } });
}

async function send(
  { admin }: GatewayProcess,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
) {
  const response = await fetch(admin + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { "content-type": "application/json", ...headers },
    ...body !== undefined &&
      { body: typeof body === "string" ? body : JSON.stringify(body) },
  });
  return { status: response.status, text: await response.text() };
}

Deno.test("the admin interface creates, lists, changes and revokes keys, and never shows one again", async () => {
  await using gateway = await start({ kv: { path: ":memory:" } });
  await send(gateway, "/access/teams", { id: "blue" });
  const created = await send(gateway, "/access/keys", {
    team: "blue",
    name: "ci",
    allow: { models: ["gpt-*"] },
  });
  const { secret, object } = JSON.parse(created.text);
  const path = `/access/keys/${object.id}`;

  const updated = await send(gateway, path, {
    action: "update",
    name: null,
    metadata: { tier: 1 },
  });
  const listed = await send(gateway, "/access/keys?team=blue&status=active");
  await send(gateway, path, { action: "suspend" });
  const suspended = await fetch(gateway.origin, {
    headers: { "x-api-key": secret },
  });
  const problem = await suspended.json();
  const revoked = await send(gateway, path, { action: "revoke" });
  const resumed = await send(gateway, path, { action: "resume" });
  const missing = await send(gateway, "/access/keys/nobody");
  const audit = await send(gateway, "/audit");

  assert.equal(created.status, 200);
  assert.deepEqual(JSON.parse(updated.text).object.metadata, { tier: 1 });
  assert.deepEqual(JSON.parse(updated.text).object.allow, {
    models: ["gpt-*"],
  });
  assert.equal(JSON.parse(listed.text).objects[0].id, object.id);
  assert.equal(problem.error_description, "the API key is suspended");
  assert.equal(JSON.parse(revoked.text).object.status, "revoked");
  assert.deepEqual(resumed, {
    status: 400,
    text: `the key "${object.id}" is revoked, for good\n`,
  });
  assert.equal(missing.status, 404);
  const all = updated.text + listed.text + revoked.text + audit.text +
    gateway.log.all.join("\n");
  assert(!all.includes(secret));
  assert(!all.includes('hash":'));
  assert.match(audit.text, /"outcome": "revoke key key_[0-9a-f]+: done"/);
});

Deno.test("invalid objects are rejected with the field", async () => {
  await using gateway = await start({ kv: { path: ":memory:" } });
  await send(gateway, "/access/teams", { id: "blue" });
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [{ id: "Blue Team" }, /id: expected an ID of lower-case letters/],
    [{ id: "../../etc" }, /id: expected an ID/],
    [{ id: "__proto__" }, /id: expected an ID/],
    [{ id: "blue" }, /the team "blue" exists already/],
    [{}, /"id" is required/],
    [{ id: "x", name: "a\u001b[31mb" }, /name: expected 1 to 128 characters/],
    [{ id: "x", name: "\u202egnp" }, /name: expected 1 to 128 characters/],
    [{ id: "x", metadata: { id: "me" } }, /metadata: expected none of id/],
    [{ id: "x", metadata: { a: "b".repeat(5000) } }, /at most 4096 characters/],
    [
      { id: "x", metadata: { a: "b".repeat(10_000_000) } },
      /expected at most 65536 bytes/,
    ],
    [
      { id: "x", metadata: JSON.parse("[".repeat(20) + "]".repeat(20)) },
      /metadata: expected/,
    ],
    [
      { id: "x", allow: { models: ["a*b"] } },
      /allow\.models\[0\]: expected a name/,
    ],
    [
      { id: "x", allow: { addresses: ["10.0.0.0/99"] } },
      /expected an IP address/,
    ],
    [
      { id: "x", budgets: [{ requests: 1 }] },
      /budgets\[0\]: "unit" is required/,
    ],
    [
      { id: "x", budgets: [{ requests: -1, unit: "Days" }] },
      /budgets\[0\]\.requests/,
    ],
    [{ id: "x", secrets: [] }, /secrets: unknown field/],
    [{ id: "x", status: "active" }, /status: unknown field/],
    ["[]", /expected a JSON object/],
    ["{", /expected JSON/],
  ];
  for (const [body, expected] of cases) {
    const { status, text } = await send(gateway, "/access/teams", body);
    assert.equal(status, 400, text);
    assert.match(text, expected);
  }
  const unowned = await send(gateway, "/access/keys", { team: "nobody" });
  assert.equal(unowned.text, 'the team "nobody" does not exist\n');
  const rotated = await send(gateway, "/access/teams/blue", {
    action: "rotate",
  });
  assert.match(rotated.text, /expected "action": update, suspend, resume/);
});

Deno.test("nobody without the token, and no page of another site, can make a key", async () => {
  await using gateway = await start({ kv: { path: ":memory:" }, adminToken });
  const authorization = `Bearer ${adminToken}`;

  const anonymous = await send(gateway, "/access/keys", {});
  const cases = [
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "https://evil.example" },
    { "content-type": "text/plain" },
    { "content-type": "application/x-www-form-urlencoded" },
  ];
  const found = await Promise.all(
    cases.map((headers) =>
      send(gateway, "/access/keys", {}, { authorization, ...headers })
    ),
  );
  const listed = await send(gateway, "/access/keys", undefined, {
    authorization,
  });

  assert.equal(anonymous.status, 401);
  assert.deepEqual(found.map(({ status }) => status), [
    ...[403, 403, 403],
    ...[400, 400],
  ]);
  assert.equal(JSON.parse(listed.text).objects.length, 0);
});

Deno.test("of two that create the same team at once, one succeeds; no update is lost", async () => {
  await using gateway = await start({ kv: { path: ":memory:" } });
  const created = await Promise.all(
    [1, 2, 3, 4].map(() => send(gateway, "/access/teams", { id: "t" })),
  );
  const names = Array.from({ length: 8 }, (_, index) => `n${index}`);
  await Promise.all(
    names.map((name) => send(gateway, "/access/teams", { id: name, name })),
  );
  const { text } = await send(gateway, "/access/teams");

  assert.deepEqual(created.map(({ status }) => status).toSorted(), [
    ...[200, 400, 400, 400],
  ]);
  assert.deepEqual(
    JSON.parse(text).objects.map(({ id }: { id: string }) => id),
    [...names, "t"],
  );
});

Deno.test("without config.kv, stored keys are an error of the configuration, and the endpoints say what is missing", async () => {
  await using gateway = await GatewayProcess.start({
    config: {
      routes: [{ name: "r", policies: { directResponse: { status: 200 } } }],
    },
  });

  const answer = await send(gateway, "/access/keys");

  assert.equal(answer.status, 409);
  assert.match(answer.text, /^"config\.kv" is not set/);
});
