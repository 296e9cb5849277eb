import assert from "node:assert/strict";
import type { LlmApi } from "../../../../src/llm/llm_api.ts";
import { type TokenUsage } from "../../../../src/llm/usage/token_usage.ts";
import {
  bytesOf,
  json,
  namedEvents,
  scan,
  scanJson,
  scannerFor,
  sse,
} from "../llm_responses.ts";

interface Case {
  readonly name: string;
  readonly api?: LlmApi;
  readonly document: unknown;
  readonly expected: Partial<TokenUsage>;
}

const cases: readonly Case[] = [
  {
    name: "a chat of OpenAI with speech",
    api: "chat",
    document: {
      usage: {
        prompt_tokens: 100,
        completion_tokens: 50,
        prompt_tokens_details: { audio_tokens: 80, cached_tokens: 0 },
        completion_tokens_details: { audio_tokens: 40, text_tokens: 10 },
      },
    },
    expected: {
      totalTokens: 150,
      audio: { input: 80, cached: 0, output: 40 },
    },
  },
  {
    name: "a response of OpenAI's Realtime API with speech",
    api: "realtime",
    document: {
      response: {
        usage: {
          input_tokens: 300,
          output_tokens: 60,
          input_token_details: {
            audio_tokens: 200,
            cached_tokens: 128,
            cached_tokens_details: { text_tokens: 64, audio_tokens: 64 },
          },
          output_token_details: { text_tokens: 15, audio_tokens: 45 },
        },
      },
    },
    expected: {
      totalTokens: 360,
      cachedInputTokens: 128,
      audio: { input: 200, cached: 64, output: 45 },
    },
  },
  {
    name:
      "OpenAI chat, whose input includes the cache and whose output includes reasoning",
    api: "chat",
    document: {
      model: "gpt-4o",
      usage: {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 15 },
      },
    },
    expected: {
      inputTokens: 100,
      outputTokens: 20,
      totalTokens: 120,
      cachedInputTokens: 60,
      cacheCreationInputTokens: 30,
      responseModel: "gpt-4o",
      estimated: false,
    },
  },
  {
    name: "a chat response with more cache writes than input",
    api: "chat",
    document: {
      usage: {
        prompt_tokens: 10,
        completion_tokens: 5,
        prompt_tokens_details: { cache_write_tokens: 50 },
      },
    },
    expected: { totalTokens: 15, cacheCreationInputTokens: 50 },
  },
  {
    name: "a chat response with cached tokens at the top level of its usage",
    api: "chat",
    document: {
      usage: {
        prompt_tokens: 100,
        completion_tokens: 5,
        cache_read_input_tokens: 40,
        cache_creation_input_tokens: 20,
      },
    },
    expected: {
      totalTokens: 105,
      cachedInputTokens: 40,
      cacheCreationInputTokens: 20,
    },
  },
  {
    name: "DeepSeek",
    document: {
      usage: {
        prompt_tokens: 100,
        completion_tokens: 5,
        total_tokens: 105,
        prompt_cache_hit_tokens: 64,
        prompt_cache_miss_tokens: 36,
      },
    },
    expected: { inputTokens: 100, totalTokens: 105, cachedInputTokens: 64 },
  },
  {
    name: "Mistral",
    document: {
      usage: { prompt_tokens: 9, completion_tokens: 5, num_cached_tokens: 4 },
    },
    expected: { totalTokens: 14, cachedInputTokens: 4 },
  },
  {
    name: "xAI, which includes reasoning only in the total",
    document: {
      usage: {
        prompt_tokens: 30,
        completion_tokens: 10,
        total_tokens: 140,
        completion_tokens_details: { reasoning_tokens: 100 },
      },
    },
    expected: { outputTokens: 110, totalTokens: 140 },
  },
  {
    name: "Gemini's chat API, which includes reasoning only in the total",
    api: "chat",
    document: {
      usage: { prompt_tokens: 10, completion_tokens: 37, total_tokens: 109 },
    },
    expected: { inputTokens: 10, outputTokens: 99, totalTokens: 109 },
  },
  {
    name: "Mistral with audio, which only the total includes",
    api: "chat",
    document: {
      usage: {
        prompt_audio_seconds: 203,
        prompt_tokens: 4,
        completion_tokens: 635,
        total_tokens: 3264,
      },
    },
    expected: { inputTokens: 4, totalTokens: 3264 },
  },
  {
    name: "Mistral with connectors, which only the total includes",
    api: "chat",
    document: {
      usage: {
        prompt_tokens: 50,
        completion_tokens: 30,
        connector_tokens: 4000,
        total_tokens: 4080,
      },
    },
    expected: { totalTokens: 4080 },
  },
  {
    name: "a total below its parts",
    api: "chat",
    document: {
      usage: { prompt_tokens: 50, completion_tokens: 30, total_tokens: 8 },
    },
    expected: { inputTokens: 50, outputTokens: 30, totalTokens: 80 },
  },
  {
    name: "legacy completions",
    api: "completions",
    document: { usage: { prompt_tokens: 4, completion_tokens: 2 } },
    expected: { totalTokens: 6 },
  },
  {
    name: "OpenAI responses, whose input includes the cache",
    api: "responses",
    document: {
      model: "gpt-5",
      usage: {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 60, cache_write_tokens: 7 },
        output_tokens: 20,
        output_tokens_details: { reasoning_tokens: 15 },
        total_tokens: 120,
      },
    },
    expected: {
      inputTokens: 100,
      totalTokens: 120,
      cachedInputTokens: 60,
      cacheCreationInputTokens: 7,
    },
  },
  {
    name: "Anthropic messages, whose input excludes the cache",
    api: "messages",
    document: {
      model: "claude-opus-4",
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 200,
        cache_read_input_tokens: 3000,
        cache_creation: {
          ephemeral_5m_input_tokens: 150,
          ephemeral_1h_input_tokens: 50,
        },
        output_tokens: 40,
        output_tokens_details: { thinking_tokens: 33 },
      },
    },
    expected: {
      inputTokens: 3210,
      outputTokens: 40,
      totalTokens: 3250,
      cachedInputTokens: 3000,
      cacheCreationInputTokens: 200,
      responseModel: "claude-opus-4",
    },
  },
  {
    name: "Gemini, with thoughts, tools and a cache",
    api: "gemini",
    document: {
      modelVersion: "gemini-2.5-pro",
      usageMetadata: {
        promptTokenCount: 100,
        toolUsePromptTokenCount: 7,
        candidatesTokenCount: 20,
        thoughtsTokenCount: 15,
        cachedContentTokenCount: 60,
        totalTokenCount: 142,
      },
    },
    expected: {
      inputTokens: 107,
      outputTokens: 35,
      totalTokens: 142,
      cachedInputTokens: 60,
      responseModel: "gemini-2.5-pro",
    },
  },
  {
    name: "Gemini with 64-bit integers, which its JSON writes as strings",
    document: {
      usageMetadata: { promptTokenCount: "12", candidatesTokenCount: "3" },
    },
    expected: { inputTokens: 12, outputTokens: 3 },
  },
  {
    name: "Gemini when the prompt was blocked",
    document: { usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 } },
    expected: { inputTokens: 9, outputTokens: 0 },
  },
  {
    name: "Bedrock Converse, whose input excludes the cache",
    api: "converse",
    document: {
      usage: {
        inputTokens: 3,
        outputTokens: 9,
        cacheReadInputTokens: 50,
        cacheReadInputTokenCount: 50,
        cacheWriteInputTokens: 20,
        cacheWriteInputTokenCount: 20,
        cacheDetails: [{ inputTokens: 20, ttl: "5m" }],
        totalTokens: 82,
      },
    },
    expected: {
      inputTokens: 73,
      totalTokens: 82,
      cachedInputTokens: 50,
      cacheCreationInputTokens: 20,
    },
  },
  {
    name: "embeddings",
    api: "embeddings",
    document: {
      data: [{ embedding: [0.1, -2e-3] }],
      usage: { prompt_tokens: 8, total_tokens: 8 },
    },
    expected: { inputTokens: 8, outputTokens: 0, totalTokens: 8 },
  },
  {
    name: "embeddings that report only the total",
    api: "embeddings",
    document: { usage: { total_tokens: 8 } },
    expected: {
      inputTokens: 8,
      outputTokens: 0,
    },
  },
  {
    name: "rerank by tokens",
    api: "rerank",
    document: {
      meta: {
        tokens: { input_tokens: 30 },
        billed_units: { total_tokens: 99 },
      },
    },
    expected: { inputTokens: 30, outputTokens: 0, totalTokens: 30 },
  },
  {
    name: "rerank by billed units",
    api: "rerank",
    document: { meta: { billed_units: { total_tokens: 25 } } },
    expected: { inputTokens: 25, totalTokens: 25 },
  },
  {
    name: "Cohere chat",
    document: {
      message: { content: [] },
      usage: {
        billed_units: { input_tokens: 1, output_tokens: 1 },
        tokens: { input_tokens: 30, output_tokens: 4 },
      },
    },
    expected: { inputTokens: 30, outputTokens: 4 },
  },
  {
    name: "images, by the shape of OpenAI responses",
    document: {
      usage: {
        input_tokens: 50,
        output_tokens: 1000,
        total_tokens: 1050,
        input_tokens_details: { text_tokens: 10, image_tokens: 40 },
      },
    },
    expected: { totalTokens: 1050 },
  },
  {
    name: "Cloudflare, in its result",
    document: {
      result: {
        response: "4",
        usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
      },
      success: true,
    },
    expected: { inputTokens: 20, outputTokens: 5 },
  },
  {
    name: "TGI, with details",
    api: "tgi",
    document: {
      generated_text: "4",
      details: {
        finish_reason: "length",
        generated_tokens: 5,
        input_length: 20,
      },
    },
    expected: { inputTokens: 20, outputTokens: 5 },
  },
];

for (const { name, api, document, expected } of cases) {
  Deno.test(`usage of ${name} is normalized`, () => {
    // The shape of the response determines the API as well as the request does.
    for (const known of [api, undefined]) {
      const usage = scanJson(document, known);
      assert(usage !== undefined);
      assert.deepEqual({ ...usage, ...expected }, usage);
    }
  });
}

for (
  const { name, api, total } of [
    { name: "included for OpenAI responses", api: "responses", total: 12 },
    { name: "added for Anthropic messages", api: "messages", total: 42 },
    { name: "added where only the shape is known", api: undefined, total: 42 },
  ] as const
) {
  Deno.test(`cached tokens under Anthropic's names are ${name}`, () => {
    const usage = {
      input_tokens: 10,
      output_tokens: 2,
      cache_read_input_tokens: 30,
    };

    assert.equal(scanJson({ usage }, api)?.totalTokens, total);
  });
}

Deno.test("usage of Anthropic is the latest value of each count, never a sum", () => {
  const stream = namedEvents(
    start({
      input_tokens: 100,
      cache_read_input_tokens: 55_000,
      output_tokens: 7,
    }),
    delta({ output_tokens: 20 }),
    delta({ input_tokens: 181, cache_read_input_tokens: 0, output_tokens: 30 }),
    delta({
      input_tokens: null,
      cache_read_input_tokens: null,
      output_tokens: 31,
    }),
  );

  for (const api of ["messages", undefined] as const) {
    const usage = scan(sse, [stream], api);
    assert.equal(usage?.inputTokens, 181);
    assert.equal(usage.outputTokens, 31);
    assert.equal(usage.estimated, false);
  }
});

Deno.test("usage of Anthropic keeps cached tokens when later events omit them", () => {
  const stream = namedEvents(
    start({ input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 1 }),
    delta({ output_tokens: 20 }),
  );

  assert.equal(scan(sse, [stream])?.totalTokens, 120);
});

Deno.test("usage with OpenAI's total or details includes the cache, independent of its name", () => {
  const usage = {
    input_tokens: 10,
    output_tokens: 2,
    cache_read_input_tokens: 4,
  };

  for (const more of [{ total_tokens: 12 }, { input_tokens_details: {} }]) {
    const read = scanJson({ usage: { ...usage, ...more } });
    assert.equal(read?.totalTokens, 12);
  }
});

Deno.test("usage of Gemini is its last report", () => {
  const chunk = (usage: Record<string, number>) => ({ usageMetadata: usage });
  const usage = scanJson([
    chunk({
      promptTokenCount: 10,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 3,
    }),
    chunk({ promptTokenCount: 10, candidatesTokenCount: 8 }),
  ]);

  assert.equal(usage?.totalTokens, 18);
});

function start(usage: Record<string, number>) {
  return { type: "message_start", message: { content: [], usage } };
}

function delta(usage: Record<string, number | null>) {
  return { type: "message_delta", delta: {}, usage };
}

Deno.test("usage of TGI without a count of the input is estimated by the request", () => {
  const document = { generated_text: "4", details: { generated_tokens: 5 } };
  const scanner = scannerFor(json, "tgi");
  scanner.push(bytesOf(JSON.stringify(document)));

  assert.equal(scanner.finish(), undefined);
  const { inputTokens, outputTokens, estimated } = scanner.estimate(100);

  assert.deepEqual({ inputTokens, outputTokens, estimated }, {
    inputTokens: 100,
    outputTokens: 5,
    estimated: true,
  });
});
