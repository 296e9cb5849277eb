/** Prices of images, documents, speech and of models behind other hosts; large bodies. */
import assert from "node:assert/strict";
import { startProvider } from "../../../harness/llm/provider_server.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { openTokenBudget } from "../../../harness/llm/token_budget.ts";
import { bytesOf, json, sse } from "../../../unit/llm/llm_responses.ts";

interface Media {
  readonly what: string;
  readonly path: string;
  readonly request: unknown;
  readonly contentType?: string;
  readonly response: unknown;
  /** Prices of the configuration. */
  readonly models?: readonly unknown[];
  readonly usd: string;
  readonly tokens: number;
}

const cases: readonly Media[] = [
  {
    what: "tokens of an image",
    path: "/v1/images/generations",
    request: { model: "gpt-image-1.5", prompt: "a gate" },
    response: {
      created: 1,
      data: [{ b64_json: "A".repeat(100_000) }],
      usage: {
        input_tokens: 1000,
        input_tokens_details: { text_tokens: 400, image_tokens: 600 },
        output_tokens: 1100,
        output_tokens_details: { text_tokens: 100, image_tokens: 1000 },
        total_tokens: 2100,
      },
    },
    // 400 × 5 + 600 × 8 + 100 × 10 + 1000 × 32 millionths.
    usd: "0.0398",
    tokens: 2100,
  },
  {
    what: "images without usage",
    path: "/v1/images/generations",
    request: { model: "painter", prompt: "a gate", n: 2 },
    response: { created: 1, data: [{ url: "https://a/" }, { url: "b" }] },
    models: [{ model: "painter", input: 0, output: 0, image: 0.04 }],
    usd: "0.08",
    tokens: 3200,
  },
  {
    what: "large images without usage",
    path: "/v1/images/generations",
    request: { model: "painter", prompt: "a gate", n: 2 },
    response: {
      data: [{ b64_json: "A".repeat(50_000) }, { b64_json: "B" }],
    },
    models: [{ model: "painter", input: 0, output: 0, image: 0.04 }],
    usd: "0.08",
    tokens: 3200,
  },
  {
    what: "images of Gemini",
    path: "/v1beta/models/gemini-2.5-flash-image:generateContent",
    request: { contents: [] },
    response: {
      candidates: [],
      modelVersion: "gemini-2.5-flash-image",
      usageMetadata: {
        promptTokenCount: 1000,
        candidatesTokenCount: 1300,
        totalTokenCount: 2300,
        candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1290 }],
      },
    },
    // 1000 × 0.3 + 10 × 2.5 + 1290 × 30 millionths.
    usd: "0.039025",
    tokens: 2300,
  },
  {
    what: "pages of a document",
    path: "/v1/ocr",
    request: { model: "mistral-ocr-2505", document: {} },
    response: {
      model: "mistral-ocr-2505",
      pages: [],
      usage_info: { pages_processed: 29, doc_size_bytes: 3_002_783 },
    },
    usd: "0.029",
    tokens: 46_400,
  },
  {
    what: "a spoken text, by its characters",
    path: "/v1/audio/speech",
    request: { model: "tts-1", voice: "alloy", input: "x".repeat(3000) },
    contentType: "audio/mpeg",
    response: "sound",
    usd: "0.045",
    tokens: 5000,
  },
  {
    what: "a spoken text, by its tokens",
    path: "/v1/audio/speech",
    request: { model: "gpt-4o-mini-tts", input: "x".repeat(3000) },
    contentType: "audio/mpeg",
    response: "sound",
    // 1000 × 0.6 + 4000 × 12 millionths.
    usd: "0.0486",
    tokens: 5000,
  },
  {
    what: "Bedrock behind another host",
    path: "/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
    request: { messages: [] },
    response: { usage: { inputTokens: 1000, outputTokens: 1000 } },
    // 1000 × 3.3 + 1000 × 16.5 millionths.
    usd: "0.0198",
    tokens: 2000,
  },
];

for (
  const {
    what,
    path,
    request,
    contentType = json,
    response,
    models = [],
    usd,
    tokens,
  } of cases
) {
  Deno.test(`${what} have their price, and count for budgets of tokens`, async () => {
    const text = typeof response === "string"
      ? response
      : JSON.stringify(response);
    await using limited = await openTokenBudget(
      { contentType, body: bytesOf(text) },
      { config: { config: { prices: { models } } } },
    );
    const answer = await fetch(limited.origin + path, {
      method: "POST",
      headers: { "content-type": json },
      body: JSON.stringify(request),
    });
    assert.equal(await answer.text(), text);

    assert.equal(await limited.charged(tokens), tokens);
    const log = limited.gateway.accessLog.join("");
    assert.equal(/ llm\.cost_usd="?([\d.]+)/.exec(log)?.[1], usd);
  });
}

/** A streamed chat with an image of so many bytes. */
function chatWithImage(bytes: number): string {
  return JSON.stringify({
    model: "gpt-4o",
    stream: true,
    messages: [{
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        {
          type: "image_url",
          image_url: { url: `data:image/png;base64,${"A".repeat(bytes)}` },
        },
      ],
    }],
  });
}

const LARGE = 3 << 20;

Deno.test("two streamed chats with large images are charged what the provider reports, not their bytes", async () => {
  const chunk = {
    model: "gpt-4o",
    choices: [{ delta: { content: "A gate" } }],
  };
  const usage = { prompt_tokens: 4600, completion_tokens: 40 };
  const stream = [chunk, { choices: [], usage }].map((each) =>
    `data: ${JSON.stringify(each)}\n\n`
  ).join("");
  await using limited = await openTokenBudget({
    contentType: sse,
    body: bytesOf(stream),
  });
  for (let chat = 0; chat < 2; chat++) {
    const response = await fetch(`${limited.origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": json },
      body: chatWithImage(LARGE),
    });
    await response.text();
    assert.equal(response.status, 200);
  }

  assert.equal(await limited.charged(9280), 9280);
});

Deno.test("a stream that breaks off counts a large image as one, not as its bytes", async () => {
  const chunk = {
    model: "gpt-4o",
    choices: [{ delta: { content: "A gate" } }],
  };
  await using limited = await openTokenBudget({
    contentType: sse,
    body: bytesOf(`data: ${JSON.stringify(chunk)}\n\n`),
  });
  const response = await fetch(`${limited.origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": json },
    body: chatWithImage(LARGE),
  });
  await response.text();
  await limited.finished(1);

  // 1,600 tokens for the image, the rest for text.
  assert.equal(await limited.charged(1654), 1654);
});

Deno.test("an alias applies to bodies with images of several megabytes, and longer ones get 413", async () => {
  await using provider = startProvider(() => Response.json({ choices: [] }));
  await using gateway = await startTestGateway({
    routes: [{
      backends: [{
        llm: {
          provider: "OpenAI",
          host: provider.host,
          plainText: true,
          aliases: { "gpt-4o": "gpt-4o-2024-11-20" },
        },
      }],
    }],
  });
  const post = async (bytes: number) => {
    const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": json },
      body: chatWithImage(bytes),
    });
    await response.text();
    return response.status;
  };
  assert.equal(await post(20 << 20), 200);
  assert.match(
    provider.requests[0]?.body.slice(0, 40) ?? "",
    /"model":"gpt-4o-2024-11-20"/,
  );
  assert.equal(await post(33 << 20), 413);
});
