import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { startProvider } from "../../../harness/llm/provider_server.ts";

type Settings = Readonly<Record<string, unknown>>;

/** Returns what a provider gets of a request, or the status if it gets nothing. */
async function forward(
  llm: Settings,
  path: string,
  body: Settings,
  policies: Settings = {},
): Promise<unknown> {
  await using provider = startProvider();
  await using gateway = await startTestGateway({
    routes: [{
      name: "llm",
      policies,
      backends: [{ llm: { host: provider.host, plainText: true, ...llm } }],
    }],
  });
  const response = await fetch(gateway.origin + path, {
    method: "POST",
    body: JSON.stringify(body),
  });
  await response.body?.cancel();
  const [seen] = provider.requests;
  return seen === undefined ? response.status : JSON.parse(seen.body);
}

const messages = [{ role: "user", content: "Hi" }];
const azurePath = "/openai/deployments/cheap/chat/completions";

for (const provider of ["OpenAI", "Azure", "Anthropic"]) {
  Deno.test(`${provider} gets the model of the path, which rules have seen`, async () => {
    const seen = await forward(
      { provider },
      azurePath,
      { model: "expensive", messages },
      {
        authorization: {
          policy: { matchExpressions: ["llm.requestModel == 'cheap'"] },
        },
      },
    );

    assert.equal(Object(seen).model, "cheap");
  });
}

Deno.test("a model in the path does not get past the one model of a backend", async () => {
  const seen = await forward(
    { provider: "OpenAI", model: "own" },
    azurePath,
    { model: "expensive", messages },
  );

  assert.deepEqual(seen, { model: "own", messages });
});

Deno.test("a body without a model gets that of the path", async () => {
  const seen = await forward({ provider: "OpenAI" }, azurePath, { messages });

  assert.deepEqual(seen, { model: "cheap", messages });
});

for (
  const [provider, limit] of [
    ["OpenAICompatible", { max_completion_tokens: 100 }],
    ["Anthropic", { max_tokens: 100 }],
  ] as const
) {
  Deno.test(`a limit under its other name does not get past an override at ${provider}`, async () => {
    const seen = await forward(
      { provider, overrides: { max_tokens: 100 } },
      "/v1/chat/completions",
      { model: "m1", max_completion_tokens: 50_000, messages },
    );

    const { max_tokens, max_completion_tokens } = Object(seen);
    assert.deepEqual(
      JSON.parse(JSON.stringify({ max_tokens, max_completion_tokens })),
      limit,
    );
  });
}

Deno.test("an override replaces a limit under both names", async () => {
  const seen = await forward(
    { provider: "OpenAICompatible", overrides: { max_tokens: 100 } },
    "/v1/chat/completions",
    { max_completion_tokens: 5000, max_tokens: 6000, messages },
  );

  assert.deepEqual(seen, {
    max_completion_tokens: 100,
    max_tokens: 100,
    messages,
  });
});

Deno.test("a limit under its other name stays in place of a default", async () => {
  const seen = await forward(
    { provider: "OpenAICompatible", defaults: { max_tokens: 100 } },
    "/v1/chat/completions",
    { max_completion_tokens: 50, messages },
  );

  assert.deepEqual(seen, { max_completion_tokens: 50, messages });
});

Deno.test("an alias changes the model in the path, and takes it from the body", async () => {
  await using provider = startProvider();
  await using gateway = await startTestGateway({
    routes: [{
      name: "llm",
      backends: [{
        llm: {
          provider: "Vertex",
          region: "global",
          project: "p1",
          host: provider.host,
          plainText: true,
          aliases: { fast: "claude-1" },
        },
      }],
    }],
  });

  const response = await fetch(`${gateway.origin}/v1/messages`, {
    method: "POST",
    body: JSON.stringify({ model: "fast", messages }),
  });
  await response.body?.cancel();

  const [seen] = provider.requests;
  assert.match(seen?.target ?? "", /\/models\/claude-1:rawPredict$/);
  assert.deepEqual(JSON.parse(seen?.body ?? ""), {
    anthropic_version: "vertex-2023-10-16",
    messages,
  });
});

Deno.test("a client cannot leave the usage out of the response, or change the method", async () => {
  await using provider = startProvider();
  await using gateway = await startTestGateway({
    routes: [{
      name: "llm",
      backends: [{
        llm: { provider: "Gemini", host: provider.host, plainText: true },
      }],
    }],
  });

  const response = await fetch(
    `${gateway.origin}/v1beta/models/m1:generateContent?fields=candidates&alt=json&%24fields=a`,
    {
      method: "POST",
      headers: {
        "x-goog-fieldmask": "candidates",
        "x-http-method-override": "DELETE",
      },
      body: "{}",
    },
  );
  await response.body?.cancel();

  const [seen] = provider.requests;
  assert.equal(
    seen?.target,
    "/v1beta/models/m1:generateContent?alt=json",
  );
  assert.equal(seen?.headers.get("x-goog-fieldmask"), null);
  assert.equal(seen?.headers.get("x-http-method-override"), null);
});

Deno.test("an override of max_tokens bounds reasoning at another provider too", async () => {
  const seen = await forward(
    { provider: "Anthropic", overrides: { max_tokens: 2000 } },
    "/v1/chat/completions",
    {
      model: "claude",
      messages,
      reasoning_effort: "high",
      max_completion_tokens: 100_000,
    },
  );
  assert.deepEqual(
    [Object(seen).max_tokens, Object(seen).thinking],
    [2000, { type: "enabled", budget_tokens: 1600 }],
  );

  const small = await forward(
    { provider: "Anthropic", overrides: { max_tokens: 500 } },
    "/v1/chat/completions",
    { model: "claude", messages, reasoning_effort: "low" },
  );
  assert.deepEqual(
    [Object(small).max_tokens, Object(small).thinking],
    [500, undefined],
  );
});

Deno.test("an override of max_tokens holds for clients of responses and of Gemini", async () => {
  const settings = { provider: "Anthropic", overrides: { max_tokens: 500 } };
  const responses = await forward(settings, "/v1/responses", {
    model: "claude",
    input: "Hi",
    max_output_tokens: 100_000,
  });
  const gemini = await forward(
    settings,
    "/v1beta/models/claude:generateContent",
    {
      contents: [{ parts: [{ text: "Hi" }] }],
      generationConfig: { maxOutputTokens: 100_000 },
    },
  );

  for (const seen of [responses, gemini]) {
    assert.equal(Object(seen).max_tokens, 500);
    assert.equal(Object(seen).model, "claude");
  }
});
