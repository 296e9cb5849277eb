import assert from "node:assert/strict";
import type { LlmApi } from "../../../../src/llm/llm_api.ts";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { encode } from "../../../harness/llm/llm_upstream.ts";
import {
  answer as respondWith,
  RawUpstream,
} from "../../../harness/clients/raw_upstream.ts";
import { openTokenBudget } from "../../../harness/llm/token_budget.ts";
import {
  bytesOf,
  json,
  type LlmResponse,
} from "../../../unit/llm/llm_responses.ts";
import { streamedResponses } from "../../../unit/llm/streamed_responses.ts";

const pathOf: Readonly<Record<LlmApi, string>> = {
  chat: "/v1/chat/completions",
  completions: "/v1/completions",
  responses: "/v1/responses",
  messages: "/v1/messages",
  embeddings: "/v1/embeddings",
  rerank: "/v2/rerank",
  gemini: "/v1beta/models/gemini-2.5-flash:generateContent",
  geminiEmbeddings: "/v1beta/models/e:embedContent",
  converse: "/model/us.amazon.nova-lite-v1%3A0/converse",
  cohere: "/v2/chat",
  ollama: "/api/chat",
  watsonx: "/ml/v1/text/chat",
  watsonxGeneration: "/ml/v1/text/generation",
  llamacpp: "/completion",
  tgi: "/generate",
  predict: "/v1/projects/p/locations/l/publishers/google/models/m:predict",
  transcriptions: "/v1/audio/transcriptions",
  images: "/v1/images/generations",
  speech: "/v1/audio/speech",
  ocr: "/v1/ocr",
  realtime: "/v1/realtime",
};

function whole(
  name: string,
  api: LlmApi,
  document: unknown,
  [input, output]: readonly [number, number],
): LlmResponse {
  const body = bytesOf(JSON.stringify(document));
  return { name, api, contentType: json, body, input, output };
}

const completeResponses: readonly LlmResponse[] = [
  whole("llama.cpp, whole", "llamacpp", {
    content: "4",
    model: "llama-3.2",
    tokens_predicted: 5,
    tokens_evaluated: 20,
    timings: { prompt_n: 20, predicted_n: 5 },
  }, [20, 5]),
  whole("watsonx, whole", "watsonxGeneration", {
    model_id: "ibm/granite-3-8b-instruct",
    results: [{
      generated_text: "4",
      generated_token_count: 5,
      input_token_count: 20,
      stop_reason: "eos_token",
    }],
  }, [20, 5]),
  whole("Cohere's chat, whole", "cohere", {
    text: "4",
    meta: {
      billed_units: { input_tokens: 3, output_tokens: 4 },
      tokens: { input_tokens: 20, output_tokens: 5 },
    },
  }, [20, 5]),
  whole("OpenAI chat, whole", "chat", {
    choices: [{ message: { content: '"usage": {}' } }],
    usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
  }, [20, 5]),
  whole("OpenAI responses, whole", "responses", {
    output: [],
    usage: {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 10 },
      output_tokens: 7,
      total_tokens: 27,
    },
  }, [20, 7]),
  whole("Anthropic messages, whole", "messages", {
    content: [],
    usage: {
      input_tokens: 3,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 1000,
      output_tokens: 9,
    },
  }, [1103, 9]),
  whole("Gemini, whole", "gemini", {
    usageMetadata: {
      promptTokenCount: 8,
      cachedContentTokenCount: 4,
      candidatesTokenCount: 2,
      thoughtsTokenCount: 30,
      totalTokenCount: 40,
    },
  }, [8, 32]),
  whole("Bedrock Converse, whole", "converse", {
    usage: {
      inputTokens: 5,
      outputTokens: 6,
      cacheReadInputTokens: 70,
      cacheWriteInputTokens: 8,
      totalTokens: 89,
    },
  }, [83, 6]),
  whole("embeddings", "embeddings", {
    data: [],
    usage: { prompt_tokens: 11, total_tokens: 11 },
  }, [11, 0]),
];

/** Asks as a client does that wants the usage. */
const ask = {
  method: "POST",
  headers: { "content-type": json },
  body: '{"stream":true,"stream_options":{"include_usage":true}}',
} as const;

for (const response of [...completeResponses, ...streamedResponses]) {
  const { name, api, contentType, body, input, output } = response;
  for (const coding of [undefined, "gzip", "br", "zstd"] as const) {
    const how = coding === undefined ? "" : `, in ${coding}`;
    Deno.test(`${name}${how}: charged exactly, and the client gets every byte`, async () => {
      await using limited = await openTokenBudget({
        contentType,
        body,
        ...(coding && { coding }),
      });
      const url = limited.origin + pathOf[api];

      const response = await fetchRaw(url, ask);

      assert.deepEqual(response.bytes, new Uint8Array(encode(body, coding)));
      assert.equal(response.headers["content-type"], contentType);
      assert.equal(response.headers["content-encoding"], coding);
      assert.equal(
        response.headers["content-length"],
        String(response.bytes.length),
      );
      const debit = input + output;
      assert.equal(await limited.charged(debit), debit);
    });
  }

  Deno.test(`${name}: the request that crosses the budget completes, the next one is rejected`, async () => {
    const tokens = input + output - 1;
    await using limited = await openTokenBudget({ contentType, body }, {
      tokens,
    });
    const url = limited.origin + pathOf[api];

    const crossing = await fetchRaw(url, ask);
    const next = await fetchRaw(url, ask);

    assert.equal(crossing.status, 200);
    assert.equal(crossing.headers["x-ratelimit-remaining"], String(tokens));
    assert.deepEqual(crossing.bytes, new Uint8Array(body));
    assert.equal(next.status, 429);
    assert.equal(next.headers["x-ratelimit-remaining"], "0");
    assert.ok(Number(next.headers["retry-after"]) > 3500);
    assert.equal(limited.upstream.requests.length, 1);
  });
}

Deno.test("a model of Bedrock that reports no usage is charged by the headers", async () => {
  const body = '{"generation":"Hello","stop_reason":"stop"}';
  await using upstream = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      const fields = [
        "content-type: application/json",
        "X-Amzn-Bedrock-Input-Token-Count: 12",
        "X-Amzn-Bedrock-Output-Token-Count: 3",
      ];
      await connection.send(respondWith(body, ...fields));
    }
  });
  await using gateway = await startTestGateway({
    routes: [{
      policies: { rateLimit: { local: [{ tokens: 100, unit: "Hours" }] } },
      backends: [{ host: `127.0.0.1:${upstream.port}` }],
    }],
  });
  const url = `${gateway.origin}/model/meta.llama3-8b-instruct-v1%3A0/invoke`;

  const first = await fetchRaw(url, ask);
  const second = await fetchRaw(url, ask);

  assert.equal(new TextDecoder().decode(first.bytes), body);
  assert.equal(second.headers["x-ratelimit-remaining"], "85");
});
