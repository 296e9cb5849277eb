import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { startProvider } from "../../../harness/llm/provider_server.ts";

const paths = {
  openai: "/v1/chat/completions",
  responses: "/v1/responses",
  anthropic: "/v1/messages",
  gemini: "/v1beta/models/m:generateContent",
  bedrock: "/model/m/converse",
} as const;
type Api = keyof typeof paths;

const key = { authorization: "Bearer client-key" };

async function open(more: Readonly<Record<string, unknown>> = {}) {
  const provider = startProvider(() => Response.json({ ok: true }));
  const gateway = await startTestGateway({
    routes: [{
      name: "llm",
      matches: ["/v1", "/v1beta", "/model"].map((value) => ({
        path: { type: "PathPrefix", value },
      })),
      policies: {
        apiKeyAuthentication: { keys: [{ key: "client-key" }] },
        authorization: {
          policy: { matchExpressions: ["llm.requestModel != 'secret'"] },
        },
        rateLimit: { local: [{ requests: 1, unit: "Hours" }] },
        ...more,
      },
      backends: [{
        llm: { provider: "OpenAI", host: provider.host, plainText: true },
      }],
    }],
  });
  return {
    async post(
      api: Api,
      headers: Readonly<Record<string, string>>,
      { path, model = "m" }: {
        readonly path?: string;
        readonly model?: string;
      } = {},
    ) {
      const response = await fetch(gateway.origin + (path ?? paths[api]), {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ model, messages: [] }),
      });
      return { response, body: JSON.parse(await response.text()) };
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const forms: Readonly<
  Record<Api, (body: unknown, message: string, id: string) => void>
> = {
  openai: (body, message) =>
    assert.deepEqual(body, {
      error: {
        message,
        type: "invalid_request_error",
        param: null,
        code: "api_key_auth",
      },
    }),
  responses: (body, message, id) => forms.openai(body, message, id),
  anthropic: (body, message, id) =>
    assert.deepEqual(body, {
      type: "error",
      error: { type: "authentication_error", message },
      request_id: id,
    }),
  gemini: (body, message, id) =>
    assert.deepEqual(body, {
      error: {
        code: 401,
        message,
        status: "UNAUTHENTICATED",
        details: [{
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: "API_KEY_AUTH",
          domain: "gateway",
          metadata: { requestId: id },
        }],
      },
    }),
  bedrock: (body, message) => assert.deepEqual(body, { message }),
};

for (
  const api of [
    "openai",
    "responses",
    "anthropic",
    "gemini",
    "bedrock",
  ] as const
) {
  Deno.test(`a client of ${api} gets 401 in its own form`, async () => {
    await using llm = await open();

    const { response, body } = await llm.post(api, {});

    assert.equal(response.status, 401);
    assert.ok(response.headers.get("www-authenticate"));
    const id = response.headers.get("x-request-id") ?? "";
    assert.match(id, /^[\w-]{8,}$/);
    forms[api](body, "API key required", id);
  });
}

Deno.test("clients learn which limit is used up, and for how long", async () => {
  await using llm = await open();
  await llm.post("openai", key);
  for (const api of ["openai", "anthropic", "gemini"] as const) {
    const { response, body } = await llm.post(api, key);

    assert.equal(response.status, 429);
    assert.match(
      body.error.message,
      /^Limit ".*" of .* is used up; try again in \d+ s$/,
    );
    assert.ok(response.headers.has("retry-after"));
  }
});

Deno.test("403 and 404 have the form of the client's API", async () => {
  await using llm = await open({ rateLimit: undefined });

  const forbidden = await llm.post("anthropic", key, { model: "secret" });
  assert.equal(forbidden.response.status, 403);
  assert.equal(forbidden.body.error.type, "permission_error");
  assert.equal(
    forbidden.response.headers.get("request-id"),
    forbidden.body.request_id,
  );
  const unknown = await llm.post("gemini", key, {
    path: "/other/v1beta/models/m:generateContent",
  });
  assert.equal(unknown.response.status, 404);
  assert.equal(unknown.body.error.status, "NOT_FOUND");
  const outside = await llm.post("openai", key, {
    path: "/other/chat/completions",
  });
  assert.equal(outside.response.status, 404);
  assert.equal(outside.body.error.code, "route_not_found");
});

for (
  const [path, read] of [
    ["/v1/chat/completions", ({ error }) => error.code],
    ["/v1/messages", ({ error }) => error.type],
    ["/v1beta/models/m:generateContent", ({ error }) => error.status],
  ] satisfies readonly (readonly [
    string,
    (body: { readonly error: Record<string, string> }) => string | undefined,
  ])[]
) {
  Deno.test(`413 of ${path} has the form of the client's API`, async () => {
    await using provider = startProvider();
    await using gateway = await startTestGateway({
      config: { limits: { maxBodyBytes: 100 } },
      routes: [{
        backends: [{
          llm: { provider: "OpenAI", host: provider.host, plainText: true },
        }],
      }],
    });

    const response = await fetch(gateway.origin + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "m", padding: "x".repeat(1000) }),
    });

    assert.equal(response.status, 413);
    assert.equal(response.headers.get("x-gateway-error"), "body_too_large");
    const body = await response.json();
    assert.match(body.error.message, /body|bytes/);
    assert.ok(read(body), JSON.stringify(body));
  });
}

Deno.test("an upstream that cannot be reached is an error of the client's API", async () => {
  await using gateway = await startTestGateway({
    routes: [{
      name: "llm",
      backends: [{
        llm: { provider: "Anthropic", host: "127.0.0.1:1", plainText: true },
      }],
    }],
  });

  const response = await fetch(`${gateway.origin}/v1/messages`, {
    method: "POST",
    body: "{}",
  });

  assert.equal(response.status, 503);
  assert.equal(
    response.headers.get("x-gateway-error"),
    "upstream_connect_failed",
  );
  const { type, error } = await response.json();
  assert.deepEqual([type, error.message], ["error", "upstream connect failed"]);
});

Deno.test("other requests keep the errors that they have", async () => {
  await using gateway = await startTestGateway({
    routes: [{ name: "other", backends: [{ host: "127.0.0.1:1" }] }],
  });

  const response = await fetch(`${gateway.origin}/v1/messages`, {
    method: "POST",
    body: "{}",
  });

  assert.equal(response.headers.get("content-type"), "text/plain");
  assert.equal(await response.text(), "upstream connect failed");
});
