import { Buffer } from "node:buffer";
import {
  awsEventStream,
  awsMessage,
  bytesOf,
  events,
  json,
  type LlmResponse,
  namedEvents,
  sse,
} from "./llm_responses.ts";

const chatChunk = {
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  model: "gpt-4o-mini-2024-07-18",
  choices: [{ index: 0, delta: { content: 'say "usage": {}' } }],
  usage: null,
};
const chat = events(
  chatChunk,
  {
    ...chatChunk,
    choices: [],
    usage: {
      prompt_tokens: 120,
      completion_tokens: 30,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 20 },
    },
  },
) + "data: [DONE]\n\n";

const anthropicEvents = [
  {
    type: "message_start",
    message: {
      model: "claude-sonnet-4-5",
      content: [],
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 200,
        cache_read_input_tokens: 3000,
        output_tokens: 1,
      },
    },
  },
  { type: "ping" },
  {
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: "Hello" },
  },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn" },
    usage: {
      input_tokens: null,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      output_tokens: 40,
    },
  },
  { type: "message_stop" },
];

const responseUsage = {
  input_tokens: 90,
  input_tokens_details: { cached_tokens: 64 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 8 },
  total_tokens: 110,
};

function responses(last: string): string {
  const response = { model: "gpt-5", status: "in_progress", usage: null };
  return namedEvents(
    { type: "response.created", ...{ response } },
    { type: "response.output_text.delta", ...{ delta: "Hello" } },
    {
      type: last,
      ...{ response: { ...response, status: "done", usage: responseUsage } },
    },
  );
}

const geminiChunks = [
  {
    candidates: [{ content: { parts: [{ text: "Hel" }] } }],
    usageMetadata: { promptTokenCount: 7, totalTokenCount: 7 },
    modelVersion: "gemini-2.5-flash",
  },
  {
    candidates: [{ content: { parts: [{ text: "lo" }] } }],
    usageMetadata: {
      promptTokenCount: 7,
      toolUsePromptTokenCount: 5,
      candidatesTokenCount: 2,
      thoughtsTokenCount: 11,
      cachedContentTokenCount: 4,
      totalTokenCount: 25,
    },
    modelVersion: "gemini-2.5-flash",
  },
];

const converse = [
  awsMessage("messageStart", { role: "assistant" }),
  awsMessage("contentBlockDelta", { delta: { text: "Hello" } }),
  awsMessage("messageStop", { stopReason: "end_turn" }),
  awsMessage("metadata", {
    metrics: { latencyMs: 12 },
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
  }),
];

function invoked(...chunks: readonly unknown[]): Buffer {
  return Buffer.concat(chunks.map((chunk) =>
    awsMessage("chunk", {
      bytes: Buffer.from(JSON.stringify(chunk)).toString("base64"),
    })
  ));
}

const metrics = "amazon-bedrock-invocationMetrics";
const invokedLlama = [
  { generation: "Hel", prompt_token_count: 12, generation_token_count: 1 },
  { generation: "lo", prompt_token_count: null, generation_token_count: 2 },
  {
    generation: "",
    [metrics]: {
      inputTokenCount: 12,
      outputTokenCount: 3,
      cacheReadInputTokenCount: 5,
      cacheWriteInputTokenCount: 1,
      invocationLatency: 301,
    },
  },
];

const ollama = [
  { model: "llama3", message: { content: "Hel" }, done: false },
  { model: "llama3", done: true, prompt_eval_count: 12, eval_count: 3 },
].map((line) => JSON.stringify(line)).join("\n");

const anthropicCounts = {
  api: "messages",
  input: 3210,
  output: 40,
  model: "claude-sonnet-4-5",
} as const;
const responsesCounts = {
  api: "responses",
  contentType: sse,
  input: 90,
  output: 20,
  model: "gpt-5",
} as const;
const geminiCounts = {
  api: "gemini",
  input: 12,
  output: 13,
  model: "gemini-2.5-flash",
} as const;

/** A stream of each provider. */
/** Each event of llama.cpp has the counts so far. */
const llamacpp = events(
  ...[1, 2, 3].map((predicted) => ({
    index: 0,
    content: '"tokens_predicted": 99',
    stop: predicted === 3,
    tokens_predicted: predicted,
    tokens_evaluated: 20,
    ...(predicted === 3 && { model: "llama-3.2", stop_type: "eos" }),
  })),
);

const watsonx = namedEvents(
  ...[1, 2, 3].map((count) => ({
    type: "message",
    model_id: "ibm/granite-3-8b-instruct",
    results: [{
      generated_text: "a",
      generated_token_count: count,
      input_token_count: 20,
      stop_reason: count === 3 ? "eos_token" : "not_finished",
    }],
  })),
);

/** Cohere's first API streams lines. */
const cohereLines = [
  { is_finished: false, event_type: "stream-start", generation_id: "1" },
  { is_finished: false, event_type: "text-generation", text: "Hello" },
  {
    is_finished: true,
    event_type: "stream-end",
    response: {
      text: "Hello",
      meta: { tokens: { input_tokens: 20, output_tokens: 3 } },
    },
  },
].map((line) => JSON.stringify(line) + "\n").join("");

const cloudflare = events(
  { response: "Hel" },
  { response: "lo" },
  { response: "", usage: { prompt_tokens: 20, completion_tokens: 3 } },
) + "data: [DONE]\n\n";

export const streamedResponses: readonly LlmResponse[] = [
  {
    name: "llama.cpp",
    api: "llamacpp",
    contentType: sse,
    body: bytesOf(llamacpp),
    input: 20,
    output: 3,
    model: "llama-3.2",
  },
  {
    name: "watsonx",
    api: "watsonxGeneration",
    contentType: sse,
    body: bytesOf(watsonx),
    input: 20,
    output: 3,
    model: "ibm/granite-3-8b-instruct",
  },
  {
    name: "Cohere's first API",
    api: "cohere",
    contentType: "application/stream+json",
    body: bytesOf(cohereLines),
    input: 20,
    output: 3,
  },
  {
    name: "Cloudflare",
    api: "chat",
    contentType: sse,
    body: bytesOf(cloudflare),
    input: 20,
    output: 3,
  },
  {
    name: "OpenAI chat",
    api: "chat",
    contentType: `${sse}; charset=utf-8`,
    body: bytesOf(chat),
    input: 120,
    output: 30,
    model: "gpt-4o-mini-2024-07-18",
  },
  {
    name: "Anthropic messages",
    contentType: sse,
    body: bytesOf(namedEvents(...anthropicEvents)),
    ...anthropicCounts,
  },
  {
    name: "Anthropic messages on Bedrock",
    contentType: awsEventStream,
    body: invoked(...anthropicEvents, {
      type: "message_stop",
      [metrics]: { inputTokenCount: 1, outputTokenCount: 40 },
    }),
    ...anthropicCounts,
  },
  {
    name: "Llama on Bedrock",
    api: "converse",
    contentType: awsEventStream,
    body: invoked(...invokedLlama),
    input: 18,
    output: 3,
  },
  ...["completed", "incomplete", "failed"].map((end): LlmResponse => ({
    name: `OpenAI responses, ${end}`,
    body: bytesOf(responses(`response.${end}`)),
    ...responsesCounts,
  })),
  {
    name: "Gemini",
    contentType: sse,
    body: bytesOf(events(...geminiChunks)),
    ...geminiCounts,
  },
  {
    name: "Gemini as a JSON array",
    contentType: json,
    body: bytesOf(JSON.stringify(geminiChunks, null, 2)),
    ...geminiCounts,
  },
  {
    name: "Bedrock Converse",
    api: "converse",
    contentType: awsEventStream,
    body: Buffer.concat(converse),
    input: 73,
    output: 9,
  },
  {
    name: "Ollama",
    api: "chat",
    contentType: "application/x-ndjson",
    body: bytesOf(ollama),
    input: 12,
    output: 3,
    model: "llama3",
  },
];
