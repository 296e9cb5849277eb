import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { startProvider } from "../../harness/llm/provider_server.ts";
import { translationTargets } from "../../harness/llm/translation_targets.ts";

const gemini = translationTargets.find(({ provider }) => provider === "Gemini");

async function ask(status: number, message: string) {
  await using small = startProvider(() =>
    Response.json({ error: { message, code: null } }, { status })
  );
  await using large = startProvider(() => Response.json(gemini?.text));
  const backend = (provider: string, host: string, model: string) => ({
    llm: { provider, host, plainText: true, model },
  });
  await using gateway = await startTestGateway({
    routes: [{
      name: "llm",
      backends: [
        { priority: 0, ...backend("OpenAI", small.host, "gpt-4o") },
        { priority: 1, ...backend("Gemini", large.host, "gemini-3-pro") },
      ],
    }],
  });
  const send = async () => {
    const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify({
        model: "any",
        messages: [{ role: "user", content: "Hello" }],
      }),
    });
    return { response, body: await response.json() };
  };
  return [await send(), await send(), small.requests.length] as const;
}

for (
  const message of [
    "This model's maximum context length is 128000 tokens.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Input is too long for requested model.",
  ]
) {
  Deno.test(`a request goes to the next model after "${message}"`, async () => {
    const [first, second, requests] = await ask(400, message);

    assert.equal(first.response.status, 200);
    assert.equal(first.body.choices[0].message.content, "Hello there");
    assert.match(
      first.response.headers.get("x-gateway-failover") ?? "",
      /=context_too_long$/,
    );
    // The model is well: the next request gets there first again.
    assert.equal(second.response.status, 200);
    assert.equal(requests, 2);
  });
}

Deno.test("another error of a request stays with its model", async () => {
  const [{ response, body }] = await ask(400, "invalid temperature");

  assert.equal(response.status, 400);
  assert.equal(body.error.message, "invalid temperature");
});
