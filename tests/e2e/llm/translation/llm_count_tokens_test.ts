import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { startProvider } from "../../../harness/llm/provider_server.ts";

async function count(
  provider: string,
  answer: () => Response,
  settings: Readonly<Record<string, unknown>> = {},
) {
  await using fake = startProvider(answer);
  await using gateway = await startTestGateway({
    routes: [{
      name: "llm",
      backends: [{
        llm: { provider, host: fake.host, plainText: true, ...settings },
      }],
    }],
  });
  const response = await fetch(`${gateway.origin}/v1/messages/count_tokens`, {
    method: "POST",
    body: JSON.stringify({
      model: "m1",
      system: "Be brief.",
      messages: [{ role: "user", content: "Hello there, how are you?" }],
      tools: [{ name: "look", input_schema: { type: "object" } }],
    }),
  });
  const [seen] = fake.requests;
  return {
    status: response.status,
    answer: await response.json(),
    kind: response.headers.get("x-gateway-token-count"),
    target: seen?.target,
    sent: seen && JSON.parse(seen.body),
  };
}

Deno.test("Gemini counts the tokens of a request to Anthropic's API", async () => {
  const { answer, target, sent } = await count(
    "Gemini",
    () => Response.json({ totalTokens: 17 }),
  );

  assert.deepEqual(answer, { input_tokens: 17 });
  assert.equal(target, "/v1beta/models/m1:countTokens");
  assert.equal(sent.generateContentRequest.model, "models/m1");
  assert.match(JSON.stringify(sent), /Be brief.*look.*Hello there/);
});

Deno.test("Vertex counts them without a wrapper", async () => {
  const { answer, target, sent } = await count(
    "Vertex",
    () => Response.json({ totalTokens: 18 }),
    { project: "p1", region: "global" },
  );

  assert.deepEqual(answer, { input_tokens: 18 });
  assert.match(target ?? "", /\/google\/models\/m1:countTokens$/);
  assert.ok(Array.isArray(sent.contents));
});

Deno.test("Bedrock counts them too", async () => {
  const { answer, target, sent } = await count(
    "Bedrock",
    () => Response.json({ inputTokens: 19 }),
    { region: "us-east-1" },
  );

  assert.deepEqual(answer, { input_tokens: 19 });
  assert.equal(target, "/model/m1/count-tokens");
  assert.deepEqual(sent.input.converse.system, [{ text: "Be brief." }]);
});

for (
  const [what, provider, settings, answer] of [
    ["OpenAI, which has no such API", "OpenAI", {}, () => Response.json({})],
    [
      "a model of Bedrock that does not count",
      "Bedrock",
      { region: "us-east-1" },
      () => Response.json({ message: "unsupported" }, { status: 400 }),
    ],
  ] as const
) {
  Deno.test(`the gateway estimates tokens for ${what}, and says so`, async () => {
    const counted = await count(provider, answer, settings);

    assert.equal(counted.status, 200);
    assert.equal(counted.kind, "estimate");
    const { input_tokens: tokens } = counted.answer;
    assert.ok(tokens > 5 && tokens < 100, `${tokens}`);
  });
}

for (
  const [path, body, answer] of [
    [
      "/v1beta/models/m1:countTokens",
      { contents: [{ parts: [{ text: "Hello" }] }] },
      { totalTokens: 17 },
    ],
    [
      "/v1/responses/input_tokens",
      { model: "m1", input: "Hello" },
      { object: "response.input_tokens", input_tokens: 17 },
    ],
  ] as const
) {
  Deno.test(`Anthropic counts the tokens of ${path}`, async () => {
    await using fake = startProvider(() => Response.json({ input_tokens: 17 }));
    await using gateway = await startTestGateway({
      routes: [{
        name: "llm",
        backends: [{
          llm: { provider: "Anthropic", host: fake.host, plainText: true },
        }],
      }],
    });

    const response = await fetch(gateway.origin + path, {
      method: "POST",
      body: JSON.stringify(body),
    });

    assert.deepEqual(await response.json(), answer);
    const [seen] = fake.requests;
    assert.equal(seen?.target, "/v1/messages/count_tokens");
    assert.deepEqual(JSON.parse(seen?.body ?? ""), {
      model: "m1",
      messages: [{
        role: "user",
        content: [{ type: "text", text: "Hello" }],
      }],
    });
  });
}
