import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  type ProviderServer,
  startProvider,
} from "../../harness/llm/provider_server.ts";
import { events } from "../../unit/llm/llm_responses.ts";

async function openGateway(
  provider: ProviderServer,
  llm: Readonly<Record<string, unknown>>,
  policies: Readonly<Record<string, unknown>> = {},
) {
  const backend = { host: provider.host, plainText: true, ...llm };
  return await startTestGateway({
    config: { accessLog: { add: { cost: "llm.cost" } } },
    routes: [{ name: "llm", policies, backends: [{ llm: backend }] }],
  });
}

function post(origin: string, path: string, body: unknown) {
  return fetch(origin + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

const question = {
  model: "m",
  max_tokens: 9,
  messages: [{ role: "user", content: "Hi" }],
};
const native = "/v1beta/models/m:generateContent";

function googleError(reason: string, message: string): Response {
  const details = [{ "@type": "type.googleapis.com/x", reason }];
  const error = { code: 400, message, status: "INVALID_ARGUMENT", details };
  return Response.json({ error }, { status: 400 });
}

for (const path of [native, "/v1/chat/completions", "/v1/messages"]) {
  Deno.test(`a key that Gemini finds invalid is no problem of clients of ${path}`, async () => {
    await using provider = startProvider(() =>
      googleError("API_KEY_INVALID", "API key not valid.")
    );
    const credentials = { key: "planted-key-1" };
    await using gateway = await openGateway(provider, {
      provider: "Gemini",
      credentials,
    });

    const response = await post(gateway.origin, path, question);
    const text = await response.text();

    assert.equal(response.status, 502);
    assert.equal(response.headers.get("x-gateway-error"), "llm_key_rejected");
    assert.match(text, /rejected the credentials of the gateway/);
    assert.match(
      gateway.accessLog.join(""),
      /reason=llm_key_rejected error="Gemini returned 400/,
    );
  });
}

Deno.test("other errors of Gemini with status 400 reach the client as they are", async () => {
  const message = "API_KEY_INVALID is no temperature";
  await using provider = startProvider(() => googleError("OTHER", message));
  await using gateway = await openGateway(provider, { provider: "Gemini" });

  const response = await post(gateway.origin, native, {});

  assert.equal(response.status, 400);
  assert.equal((await response.json()).error.message, message);
});

Deno.test("a request goes to the next priority when Gemini finds the key of the first invalid", async () => {
  await using invalid = startProvider(() => googleError("API_KEY_INVALID", ""));
  await using valid = startProvider(() => Response.json({ candidates: [] }));
  const backends = [invalid, valid].map(({ host }, priority) => ({
    priority,
    llm: { provider: "Gemini", host, plainText: true },
  }));
  await using gateway = await startTestGateway({
    routes: [{ name: "llm", backends }],
  });

  const response = await post(gateway.origin, native, question);

  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { candidates: [] });
});

const answer = {
  responseId: "r1",
  modelVersion: "m",
  candidates: [{
    content: {
      role: "model",
      parts: [
        { text: "A cat:" },
        { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } },
      ],
    },
    finishReason: "STOP",
  }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 5 },
};
const images = [{
  type: "image_url",
  image_url: { url: "data:image/png;base64,iVBORw0KGgo=" },
}];

function respondAsGemini({ target }: { readonly target: string }): Response {
  return target.includes("stream")
    ? new Response(events(answer), {
      headers: { "content-type": "text/event-stream" },
    })
    : Response.json(answer);
}

Deno.test("an image of Gemini is in the chat of the client", async () => {
  await using provider = startProvider(respondAsGemini);
  await using gateway = await openGateway(provider, { provider: "Gemini" });

  const whole = await post(gateway.origin, "/v1/chat/completions", question);
  const { message } = (await whole.json()).choices[0];
  assert.equal(message.content, "A cat:");
  assert.deepEqual(message.images, images);

  const body = { ...question, stream: true };
  const stream = await post(gateway.origin, "/v1/chat/completions", body);
  assert.ok((await stream.text()).includes(JSON.stringify({ images })));
});

Deno.test("messages cannot have an image of Gemini, and say so", async () => {
  await using provider = startProvider(respondAsGemini);
  await using gateway = await openGateway(provider, { provider: "Gemini" });

  const whole = await post(gateway.origin, "/v1/messages", question);
  assert.equal(whole.status, 502);
  assert.equal(whole.headers.get("x-gateway-error"), "llm_response_invalid");
  await whole.body?.cancel();

  const body = { ...question, stream: true };
  const stream = await post(gateway.origin, "/v1/messages", body);
  await assert.rejects(stream.text());
  assert.match(
    gateway.accessLog.join(""),
    /error="Cannot translate the answer of the provider: the answer has an image/,
  );
});

Deno.test("a model of Bedrock has its price behind another host name", async () => {
  const usage = { inputTokens: 1_000_000, outputTokens: 0 };
  await using provider = startProvider(() => Response.json({ usage }));
  await using gateway = await openGateway(provider, {
    provider: "Bedrock",
    region: "us-east-1",
  });

  const path = "/model/amazon.nova-lite-v1%3A0/converse";
  await (await post(gateway.origin, path, {})).body?.cancel();
  await gateway.gateway.dataPlane.call("collectMetrics");

  assert.match(gateway.accessLog.join(""), / llm\.cost_usd=0\.06 /);
});

Deno.test("small costs are decimals in headers, body and log", async () => {
  const usage = { prompt_tokens: 2, completion_tokens: 0 };
  await using provider = startProvider(() =>
    Response.json({ model: "gpt-4o-mini", choices: [], usage })
  );
  await using gateway = await openGateway(provider, { provider: "OpenAI" }, {
    transformation: {
      response: {
        set: [
          { name: "x-cost", value: "llm.cost" },
          { name: "x-text", value: "'USD ' + string(llm.cost)" },
          { name: "x-json", value: "toJson(llm.cost)" },
        ],
      },
    },
  });

  const response = await post(gateway.origin, "/v1/chat/completions", question);
  await response.body?.cancel();
  await gateway.gateway.dataPlane.call("collectMetrics");

  const shown = ["x-cost", "x-text", "x-json"].map((name) =>
    response.headers.get(name)
  );
  assert.deepEqual(shown, ["0.0000003", "USD 0.0000003", "0.0000003"]);
  assert.match(gateway.accessLog.join(""), / cost=0\.0000003\s/);
});

Deno.test("a rule about models holds for each of the models that OpenRouter may choose", async () => {
  await using provider = startProvider();
  const test = "llm.requestModel in ['a', 'b']";
  await using gateway = await openGateway(provider, {
    provider: "OpenAICompatible",
  }, { authorization: { policy: { matchExpressions: [test] } } });
  const ask = async (models: readonly string[]) => {
    const body = { ...question, model: "a", models };
    const path = "/v1/chat/completions";
    const response = await post(gateway.origin, path, body);
    await response.body?.cancel();
    return response.status;
  };

  assert.equal(await ask(["b"]), 200);
  assert.equal(await ask(["b", "expensive"]), 403);
  assert.equal(provider.requests.length, 1);
});

Deno.test("a backend with one model lets no client name others", async () => {
  await using provider = startProvider();
  await using gateway = await openGateway(provider, {
    provider: "OpenAICompatible",
    model: "a",
  });

  const body = { ...question, models: ["expensive"] };
  const response = await post(gateway.origin, "/v1/chat/completions", body);

  assert.equal(response.status, 400);
  assert.match(
    (await response.json()).error.message,
    /"models" is not allowed/,
  );
  assert.deepEqual(provider.requests, []);
});
