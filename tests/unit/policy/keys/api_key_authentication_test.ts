import { apiKeyMetadata } from "../../../../src/policy/authentication/request_identity.ts";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  type ApiKeyAuthentication,
  checkApiKeyAuthentication,
  createApiKeyAuthentication,
} from "../../../../src/policy/keys/api_key_authentication.ts";
import { context, headersOf, responseOf } from "../exchange.ts";

const keyHash = `sha256:${
  createHash("sha256").update("hashed-key").digest("hex")
}`;
const keys: NonNullable<ApiKeyAuthentication["keys"]> = [
  { key: "plain-key", metadata: { team: "blue" } },
  { keyHash, metadata: { team: "red" } },
  { key: "bare-key" },
];

/** Returns the rejection of a request, or its metadata and the headers that go upstream. */
async function authenticate(
  config: Partial<ApiKeyAuthentication>,
  request: Parameters<typeof context>[0],
) {
  const on = context(request);
  const policy = createApiKeyAuthentication({
    mode: "Strict",
    keys,
    ...config,
  });
  const verdict = responseOf(await policy.onRequest?.(on));
  if (verdict !== undefined) {
    const body = new TextDecoder().decode(await verdict.body?.read());
    return { status: verdict.status, body, headers: headersOf(verdict) };
  }
  const { target } = on.request;
  return {
    apiKey: on.slots.get(apiKeyMetadata),
    target,
    headers: headersOf(on.request),
  };
}

for (
  const [key, metadata] of [
    ["plain-key", { team: "blue" }],
    ["hashed-key", { team: "red" }],
    ["bare-key", {}],
  ] as const
) {
  Deno.test(`API key ${key} is known and does not go upstream`, async () => {
    const headers = { Authorization: `bearer ${key}`, accept: "*/*" };
    assert.deepEqual(await authenticate({}, { headers }), {
      apiKey: metadata,
      target: "/",
      headers: { accept: "*/*" },
    });
  });
}

Deno.test("Strict rejects a request without a key", async () => {
  const rejection = await authenticate({}, {});
  assert.deepEqual(rejection, {
    status: 401,
    body: '{"error":"unauthorized","error_description":"API key required"}',
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "www-authenticate": "Bearer",
    },
  });
});

const unknown = { authorization: "Bearer other" };
const modes = [
  ["Strict", {}, 401],
  ["Optional", {}, undefined],
  ["Permissive", {}, undefined],
  ["Strict", unknown, 401],
  ["Optional", unknown, 401],
  ["Permissive", unknown, undefined],
  ["Strict", { authorization: "Basic plain-key" }, 401],
  ["Strict", { authorization: "Bearer " }, 401],
  ["Strict", { authorization: keyHash }, 401],
  ["Strict", { authorization: `Bearer ${keyHash.slice(7)}` }, 401],
] as const;
for (const [mode, headers, status] of modes) {
  Deno.test(`${mode} returns ${status} to ${JSON.stringify(headers)}`, async () => {
    const result = await authenticate({ mode }, { headers });
    assert.equal(result.status, status);
    assert.equal(result.apiKey, undefined);
  });
}

Deno.test("an API key is found in a header of its own", async () => {
  const location = { header: { name: "X-Api-Key" } };
  assert.deepEqual(
    await authenticate({ location }, { headers: { "x-api-key": "bare-key" } }),
    { apiKey: {}, target: "/", headers: {} },
  );
  const rejection = await authenticate({ location }, {});
  assert.equal(rejection.headers["www-authenticate"], undefined);
});

const bothPlaces = {
  authorization: "Bearer plain-key",
  "x-api-key": "plain-key",
};
for (
  const [title, sent, forwarded] of [
    ["alone", { "x-api-key": "plain-key" }, {}],
    ["and in Authorization", bothPlaces, {}],
    [
      "beside a password",
      { authorization: "Basic YTpi", "x-api-key": "plain-key" },
      { authorization: "Basic YTpi" },
    ],
  ] as const
) {
  Deno.test(`an API key is found in X-Api-Key by default, ${title}`, async () => {
    assert.deepEqual(await authenticate({}, { headers: sent }), {
      apiKey: { team: "blue" },
      target: "/",
      headers: forwarded,
    });
  });
}

Deno.test("different keys in Authorization and X-Api-Key are an error, also when one is unknown", async () => {
  for (const key of ["bare-key", "unknown"]) {
    const headers = { ...bothPlaces, "x-api-key": key };
    await assert.rejects(authenticate({}, { headers }), {
      code: "bad_request",
    });
  }
});

Deno.test("an API key is found in the query, the rest of which stays as it is", async () => {
  const location = { queryParameter: { name: "api key" } };
  const target = "/a?x=%20&api+key=bare%2Dkey&y";
  assert.deepEqual(await authenticate({ location }, { target }), {
    apiKey: {},
    target: "/a?x=%20&y",
    headers: {},
  });
  const alone = await authenticate({ location }, {
    target: "/a?api%20key=bare-key",
  });
  assert.equal(alone.target, "/a");
});

Deno.test("an API key is found in a cookie, and other cookies stay", async () => {
  const location = { cookie: { name: "key" } };
  const headers = { cookie: 'a=1; key="bare-key"; b=2' };
  assert.deepEqual(await authenticate({ location }, { headers }), {
    apiKey: {},
    target: "/",
    headers: { cookie: "a=1; b=2" },
  });
});

Deno.test("two keys in one request are an error", async () => {
  const location = { queryParameter: { name: "key" } };
  await assert.rejects(
    authenticate({ location }, { target: "/?key=bare-key&key=other" }),
    { code: "bad_request" },
  );
});

Deno.test("a key that is listed twice is a problem, and a short one a warning that does not show it", () => {
  const [long, short] = ["0123456789abcdef", "0123456789abcde"];
  const problems = checkApiKeyAuthentication({
    mode: "Strict",
    keys: [{ key: long }, { key: short }, {
      keyHash: `sha256:${"0".repeat(64)}`,
    }, { key: long }],
  });

  assert.deepEqual(
    problems.map(({ path, isWarning }) => [path, isWarning]),
    [[["keys", 1, "key"], true], [["keys", 3], undefined]],
  );
  const [{ message: warning = "" } = {}, duplicate] = problems;
  assert.match(warning, /fewer than 16 characters and can be guessed/);
  assert(!warning.includes(short));
  assert.equal(duplicate?.message, "Duplicate key: it equals keys[0]");
});

Deno.test("Permissive leaves nobody known when the key is not, also when an earlier policy knew one", async () => {
  const on = context({ headers: { authorization: "Bearer unknown" } });
  on.slots.set(apiKeyMetadata, { roles: ["admin"] });
  const policy = createApiKeyAuthentication({ mode: "Permissive", keys });

  assert.equal(await policy.onRequest?.(on), undefined);

  assert.equal(on.slots.get(apiKeyMetadata), undefined);
});
