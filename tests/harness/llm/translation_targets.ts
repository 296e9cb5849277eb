import { awsEventStream, eventStream } from "./llm_answers.ts";

/** Responses of a provider to which others are translated: a text, and a call of the tool `get_weather`. */
export interface TranslationTarget {
  readonly provider: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly path: string;
  readonly streamPath: string;
  readonly text: unknown;
  readonly textStream: () => Response;
  readonly call: unknown;
  readonly callStream: () => Response;
}

const anthropicUsage = {
  input_tokens: 4,
  cache_read_input_tokens: 8,
  cache_creation_input_tokens: 2,
  output_tokens: 5,
};
/** Part of such responses. */
export const anthropicStart = {
  type: "message_start",
  message: {
    ...{ id: "msg_1", type: "message", role: "assistant", model: "claude" },
    ...{ content: [], stop_reason: null, stop_sequence: null },
    usage: { ...anthropicUsage, output_tokens: 1 },
  },
};
const converseUsage = {
  inputTokens: 4,
  cacheReadInputTokens: 8,
  cacheWriteInputTokens: 2,
  outputTokens: 5,
  totalTokens: 19,
};
const geminiUsage = {
  promptTokenCount: 14,
  cachedContentTokenCount: 8,
  candidatesTokenCount: 3,
  thoughtsTokenCount: 2,
  totalTokenCount: 19,
};

/** Formats a message of Anthropic. */
export function anthropicMessage(content: unknown, reason: string) {
  return {
    ...{ id: "msg_1", type: "message", role: "assistant", model: "claude" },
    ...{ content, stop_reason: reason, stop_sequence: null },
    usage: anthropicUsage,
  };
}

/** Part of such responses. */
export function geminiAnswer(parts: unknown, finishReason?: string) {
  return {
    candidates: [{
      content: { role: "model", parts },
      ...(finishReason && { finishReason }),
    }],
    modelVersion: "gemini",
    responseId: "r1",
    ...(finishReason && { usageMetadata: geminiUsage }),
  };
}

/** Responses of all providers with APIs of their own. */
export const translationTargets: readonly TranslationTarget[] = [
  {
    provider: "Anthropic",
    path: "/v1/messages",
    streamPath: "/v1/messages",
    text: anthropicMessage([{ type: "text", text: "Hello there" }], "end_turn"),
    textStream: () =>
      eventStream([
        anthropicStart,
        {
          type: "content_block_start",
          index: 0,
          content_block: { type: "text", text: "" },
        },
        { type: "ping" },
        ...["Hello", " there"].map((text) => ({
          type: "content_block_delta",
          index: 0,
          delta: { type: "text_delta", text },
        })),
        { type: "content_block_stop", index: 0 },
        {
          type: "message_delta",
          delta: { stop_reason: "end_turn", stop_sequence: null },
          usage: { output_tokens: 5 },
        },
        { type: "message_stop" },
      ]),
    call: anthropicMessage([{
      ...{ type: "tool_use", id: "t1", name: "get_weather" },
      input: { city: "Oslo" },
    }], "tool_use"),
    callStream: () =>
      eventStream([
        anthropicStart,
        {
          type: "content_block_start",
          index: 0,
          content_block: {
            ...{ type: "tool_use", id: "t1", name: "get_weather", input: {} },
          },
        },
        ...['{"city":', '"Oslo"}'].map((json) => ({
          type: "content_block_delta",
          index: 0,
          delta: { type: "input_json_delta", partial_json: json },
        })),
        { type: "content_block_stop", index: 0 },
        {
          type: "message_delta",
          delta: { stop_reason: "tool_use", stop_sequence: null },
          usage: { output_tokens: 5 },
        },
        { type: "message_stop" },
      ]),
  },
  {
    provider: "Gemini",
    path: "/v1beta/models/model-1:generateContent",
    streamPath: "/v1beta/models/model-1:streamGenerateContent?alt=sse",
    text: geminiAnswer([{ text: "Hello there" }], "STOP"),
    textStream: () =>
      eventStream([
        geminiAnswer([{ text: "Hello" }]),
        geminiAnswer([{ text: " there" }], "STOP"),
      ]),
    call: geminiAnswer([{
      functionCall: { id: "t1", name: "get_weather", args: { city: "Oslo" } },
    }], "STOP"),
    callStream: () =>
      eventStream([geminiAnswer([{
        functionCall: { id: "t1", name: "get_weather", args: { city: "Oslo" } },
      }], "STOP")]),
  },
  {
    provider: "Bedrock",
    settings: { region: "us-east-1" },
    path: "/model/model-1/converse",
    streamPath: "/model/model-1/converse-stream",
    text: {
      output: {
        message: { role: "assistant", content: [{ text: "Hello there" }] },
      },
      stopReason: "end_turn",
      usage: converseUsage,
    },
    textStream: () =>
      awsEventStream([
        ["messageStart", { role: "assistant" }],
        ...["Hello", " there"].map((text) =>
          ["contentBlockDelta", {
            contentBlockIndex: 0,
            delta: { text },
          }] as const
        ),
        ["contentBlockStop", { contentBlockIndex: 0 }],
        ["messageStop", { stopReason: "end_turn" }],
        ["metadata", { usage: converseUsage, metrics: { latencyMs: 1 } }],
      ]),
    call: {
      output: {
        message: {
          role: "assistant",
          content: [{
            toolUse: {
              toolUseId: "t1",
              name: "get_weather",
              input: { city: "Oslo" },
            },
          }],
        },
      },
      stopReason: "tool_use",
      usage: converseUsage,
    },
    callStream: () =>
      awsEventStream([
        ["messageStart", { role: "assistant" }],
        ["contentBlockStart", {
          contentBlockIndex: 0,
          start: { toolUse: { toolUseId: "t1", name: "get_weather" } },
        }],
        ...['{"city":', '"Oslo"}'].map((input) =>
          ["contentBlockDelta", {
            contentBlockIndex: 0,
            delta: { toolUse: { input } },
          }] as const
        ),
        ["contentBlockStop", { contentBlockIndex: 0 }],
        ["messageStop", { stopReason: "tool_use" }],
        ["metadata", { usage: converseUsage, metrics: { latencyMs: 1 } }],
      ]),
  },
];
