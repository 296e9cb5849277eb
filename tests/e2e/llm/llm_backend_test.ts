import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import type { LlmProviderName } from "../../../src/api/resources/llm_backend.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  type ProviderServer,
  startProvider,
} from "../../harness/llm/provider_server.ts";

const KEY = "sk-planted-5ad1b0e1c7";

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});

interface ProviderCase {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly key?: string;
  readonly path: string;
  readonly body?: unknown;
  readonly expectedPath: string;
  readonly header: string;
  readonly value: RegExp;
}

const chat = { model: "m1", messages: [{ role: "user", content: "Hi" }] };
const cases: Readonly<Record<LlmProviderName, ProviderCase>> = {
  OpenAI: {
    path: "/v1/chat/completions",
    expectedPath: "/v1/chat/completions",
    header: "authorization",
    value: new RegExp(`^Bearer ${KEY}$`),
  },
  OpenAICompatible: {
    settings: { basePath: "/api/v2" },
    path: "/team/v1/embeddings",
    expectedPath: "/api/v2/embeddings",
    header: "authorization",
    value: new RegExp(`^Bearer ${KEY}$`),
  },
  Anthropic: {
    path: "/v1/messages",
    expectedPath: "/v1/messages",
    header: "x-api-key",
    value: new RegExp(`^${KEY}$`),
  },
  Gemini: {
    path: "/v1beta/models/m1:streamGenerateContent?alt=sse&key=client-key",
    expectedPath: "/v1beta/models/m1:streamGenerateContent?alt=sse",
    header: "x-goog-api-key",
    value: new RegExp(`^${KEY}$`),
  },
  Azure: {
    path: "/v1/responses",
    expectedPath: "/openai/v1/responses",
    header: "api-key",
    value: new RegExp(`^${KEY}$`),
  },
  Vertex: {
    settings: { region: "europe-west4", project: "p1" },
    key: JSON.stringify({
      client_email: "gateway@p1.iam.gserviceaccount.com",
      private_key: privateKey,
    }),
    path: "/v1/messages",
    expectedPath:
      "/v1/projects/p1/locations/europe-west4/publishers/anthropic/models/m1:rawPredict",
    header: "authorization",
    value: /^Bearer ey[\w-]+\.[\w-]+\.[\w-]+$/,
  },
  Bedrock: {
    settings: { region: "us-east-1" },
    key: `AKIAEXAMPLEEXAMPLE01:${KEY}`,
    path: "/model/us.amazon.nova-lite-v1%3A0/converse",
    expectedPath: "/model/us.amazon.nova-lite-v1%3A0/converse",
    header: "authorization",
    value:
      /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLEEXAMPLE01\/\d{8}\/us-east-1\/bedrock\/aws4_request, SignedHeaders=[\w;-]+, Signature=[0-9a-f]{64}$/,
  },
};

async function openGateway(
  provider: ProviderServer,
  llm: Readonly<Record<string, unknown>>,
  config: Readonly<Record<string, unknown>> = {},
) {
  return await startTestGateway({
    ...config,
    routes: [{
      name: "llm",
      backends: [{ llm: { host: provider.host, plainText: true, ...llm } }],
      ...Object(config["route"]),
    }],
  });
}

const clientCredentials = {
  authorization: "Bearer client-key",
  "x-api-key": "client-key",
  "api-key": "client-key",
  "x-goog-api-key": "client-key",
  "openai-organization": "client-org",
  cookie: "session=client-key",
};

for (const [name, each] of Object.entries(cases)) {
  Deno.test(`${name} gets its own path and key, and nothing of the client's`, async () => {
    await using provider = startProvider();
    await using gateway = await openGateway(provider, {
      provider: name,
      credentials: { key: each.key ?? KEY },
      ...each.settings,
    });

    const response = await fetch(gateway.origin + each.path, {
      method: "POST",
      headers: clientCredentials,
      body: JSON.stringify(chat),
    });

    assert.equal(response.status, 200, await response.text());
    const [seen] = provider.requests;
    assert.equal(seen?.target, each.expectedPath);
    assert.match(seen?.headers.get(each.header) ?? "", each.value);
    assert.equal(seen?.headers.get("host"), provider.host);
    for (const [field, value] of seen?.headers ?? []) {
      assert.ok(!value.includes("client-"), `${field}: ${value}`);
      assert.ok(!field.startsWith("x-forwarded"), field);
    }
    if (name === "Vertex") {
      assert.deepEqual(JSON.parse(seen?.body ?? ""), {
        anthropic_version: "vertex-2023-10-16",
        messages: chat.messages,
      });
    } else assert.equal(seen?.body, JSON.stringify(chat));
  });
}

Deno.test("aliases, defaults and overrides change the body, and nothing else of it", async () => {
  await using provider = startProvider();
  await using gateway = await openGateway(provider, {
    provider: "OpenAI",
    aliases: { fast: "gpt-4o-mini" },
    defaults: { temperature: 0.2, seed: 7 },
    overrides: { store: false, user: "gateway" },
  });

  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: "POST",
    body: '{ "model": "fast", "seed": 1, "store":true,\n "x": 1.50 }',
  });
  await response.body?.cancel();

  assert.equal(
    provider.requests[0]?.body,
    '{"temperature":0.2,"user":"gateway", "model": "gpt-4o-mini", "seed": 1, "store":false,\n "x": 1.50 }',
  );
});

Deno.test("a backend with one model uses it for every request, also in the path", async () => {
  await using provider = startProvider();
  await using gateway = await openGateway(provider, {
    provider: "Gemini",
    model: "gemini-2.5-flash",
  });

  const response = await fetch(
    `${gateway.origin}/v1beta/models/gemini-9:generateContent`,
    { method: "POST", body: "{}" },
  );
  await response.body?.cancel();

  assert.equal(
    provider.requests[0]?.target,
    "/v1beta/models/gemini-2.5-flash:generateContent",
  );
});

for (
  const [what, method, path] of [
    ["files of the account", "GET", "/v1/files"],
    ["keys of the organization", "POST", "/v1/organization/admin_api_keys"],
    ["deleting a model", "DELETE", "/v1/models/m1"],
    ["an API of another provider", "POST", "/model/m1/converse"],
  ] as const
) {
  Deno.test(`an LLM backend does not forward ${what}`, async () => {
    await using provider = startProvider();
    await using gateway = await openGateway(provider, {
      provider: "OpenAI",
      credentials: { key: KEY },
    });

    const response = await fetch(gateway.origin + path, { method });

    assert.equal(response.status, 404);
    assert.equal(response.headers.get("x-gateway-error"), "llm_path_unknown");
    assert.match(
      await response.text(),
      /provider OpenAI has no such operation/,
    );
    assert.deepEqual(provider.requests, []);
  });
}

Deno.test("a body that servers may read differently is rejected in the form of the API", async () => {
  await using provider = startProvider();
  await using gateway = await openGateway(provider, {
    provider: "Anthropic",
    aliases: { a: "b" },
  });

  const response = await fetch(`${gateway.origin}/v1/messages`, {
    method: "POST",
    body: '{"model":"a","model":"c"}',
  });

  assert.equal(response.status, 400);
  assert.deepEqual(await response.json(), {
    type: "error",
    error: {
      type: "invalid_request_error",
      message: 'Cannot read the body: the member "model" occurs twice',
    },
    request_id: response.headers.get("x-request-id"),
  });
  assert.deepEqual(provider.requests, []);
});

for (const status of [401, 403]) {
  Deno.test(`${status} of the provider is 502 for the client, and says why`, async () => {
    await using provider = startProvider(() =>
      Response.json({ error: { message: `invalid key ${KEY}` } }, {
        status,
        headers: { "request-id": "req_provider" },
      })
    );
    await using gateway = await openGateway(provider, {
      provider: "Anthropic",
      credentials: { key: KEY },
    });

    const response = await fetch(`${gateway.origin}/v1/messages`, {
      method: "POST",
      body: "{}",
    });
    const text = await response.text();

    assert.equal(response.status, 502);
    assert.equal(response.headers.get("x-gateway-error"), "llm_key_rejected");
    assert.match(text, /"type":"api_error".*rejected the credentials of the/);
    assert.ok(!text.includes(KEY));
    const [line = ""] = gateway.accessLog;
    assert.match(line, /reason=llm_key_rejected/);
    assert.match(line, new RegExp(`error="Anthropic returned ${status}`));
    assert.match(line, /request\.id=\S+ upstream\.request\.id=req_provider/);
  });
}

Deno.test("429 of the provider says that it is the provider's limit", async () => {
  await using provider = startProvider(() =>
    Response.json({ error: { message: "slow down" } }, {
      status: 429,
      headers: { "retry-after": "7", "request-id": "req_provider" },
    })
  );
  await using gateway = await openGateway(provider, { provider: "Anthropic" });

  const response = await fetch(`${gateway.origin}/v1/messages`, {
    method: "POST",
    body: "{}",
  });

  assert.equal(response.status, 429);
  assert.equal(response.headers.get("retry-after"), "7");
  assert.equal(response.headers.get("x-gateway-limited-by"), "Anthropic");
  assert.match(await response.text(), /slow down/);
  assert.match(gateway.accessLog.join(""), /reason=llm_provider_limit/);
});

for (
  const [what, settings] of [
    ["the model", { model: "m2" }],
    ["a field", { overrides: { store: false } }],
  ] as const
) {
  Deno.test(`a form does not get past the configuration of ${what}`, async () => {
    await using provider = startProvider();
    await using gateway = await openGateway(provider, {
      provider: "OpenAI",
      ...settings,
    });

    const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: JSON.stringify(chat),
    });

    assert.equal(response.status, 400);
    assert.match(await response.text(), /Cannot change a form/);
    assert.deepEqual(provider.requests, []);
  });
}

Deno.test("a translated body is JSON, whatever type the client gave it", async () => {
  await using provider = startProvider();
  await using gateway = await openGateway(provider, { provider: "Anthropic" });

  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "text/plain" },
    body: JSON.stringify(chat),
  });
  await response.body?.cancel();

  const [seen] = provider.requests;
  assert.equal(seen?.headers.get("content-type"), "application/json");
  assert.equal(seen?.target, "/v1/messages");
});

Deno.test("responses do not name the account of the gateway", async () => {
  await using provider = startProvider(() =>
    Response.json({}, {
      headers: {
        "openai-organization": "org-1",
        "openai-processing-ms": "5",
        "set-cookie": "__cf_bm=1",
      },
    })
  );
  await using gateway = await openGateway(provider, { provider: "OpenAI" });

  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: "POST",
    body: "{}",
  });
  await response.body?.cancel();

  assert.equal(response.headers.get("openai-organization"), null);
  assert.equal(response.headers.get("set-cookie"), null);
  assert.equal(response.headers.get("openai-processing-ms"), "5");
});

Deno.test("the list of models has those of the provider and the aliases", async () => {
  await using provider = startProvider(() =>
    Response.json({ data: [{ id: "gpt-4o" }, { id: "o3" }] })
  );
  await using gateway = await openGateway(provider, {
    provider: "OpenAI",
    credentials: { key: KEY },
    aliases: { fast: "gpt-4o-mini" },
  });

  const list = await (await fetch(`${gateway.origin}/v1/models`)).json();
  const found = await fetch(`${gateway.origin}/v1/models/fast`);
  const missing = await fetch(`${gateway.origin}/v1/models/other`);

  assert.deepEqual(
    list.data.map(({ id }: { id: string }) => id),
    ["fast", "gpt-4o", "o3"],
  );
  assert.equal((await found.json()).id, "fast");
  assert.equal(missing.status, 404);
  await missing.body?.cancel();
  assert.equal(provider.requests[0]?.target, "/v1/models");
});
