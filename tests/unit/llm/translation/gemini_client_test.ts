import assert from "node:assert/strict";
import type { LlmFamily } from "../../../../src/llm/providers/operation.ts";
import { translate } from "../../../../src/llm/translation/translation.ts";

function begin(
  target: LlmFamily,
  body: Readonly<Record<string, unknown>>,
  { stream = false, model = "claude-opus-5" } = {},
) {
  const name = stream ? "streamGenerateContent" : "generateContent";
  return translate({ family: "gemini", name }, body, {
    target,
    model,
    id: "id-1",
    now: 0,
    unsupported: "Drop",
  });
}

const conversation = {
  system_instruction: { parts: [{ text: "Be brief." }] },
  contents: [
    {
      parts: [{ text: "Hello" }, {
        inline_data: { mime_type: "image/png", data: "iVBO" },
      }],
    },
    {
      role: "model",
      parts: [
        { text: "H", thought: true },
        { text: "m", thought: true, thoughtSignature: "czE=" },
        { functionCall: { name: "look", args: { a_b: 1 } } },
        { functionCall: { name: "look", args: { a_b: 2 } } },
      ],
    },
    {
      role: "user",
      parts: [
        { functionResponse: { name: "look", response: { result: "one" } } },
        { functionResponse: { name: "look", response: { error: "two" } } },
      ],
    },
  ],
  tools: [{
    functionDeclarations: [{
      name: "look",
      description: "Looks.",
      parameters: {
        type: "OBJECT",
        properties: {
          type: { type: "STRING", nullable: true, enum: ["A"] },
          list: { type: "ARRAY", items: { type: "INTEGER" } },
        },
      },
    }],
  }],
  toolConfig: {
    functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["look"] },
  },
  generationConfig: {
    maxOutputTokens: 100,
    stopSequences: ["END"],
    topK: 64,
    thinkingConfig: { thinkingLevel: "HIGH", includeThoughts: true },
  },
  safetySettings: [{ category: "A", threshold: "BLOCK_NONE" }],
};

Deno.test("data in the alphabet for URLs becomes that of other providers", () => {
  const { body } = begin("bedrock", {
    contents: [{
      parts: [{ inlineData: { mimeType: "image/png", data: "_-8=" } }],
    }],
  });

  assert.deepEqual(body["messages"], [{
    role: "user",
    content: [{ image: { format: "png", source: { bytes: "/+8=" } } }],
  }]);
});

Deno.test("a conversation of Gemini becomes Anthropic's", () => {
  const { body, losses } = begin("anthropic", conversation);

  assert.deepEqual(body, {
    model: "claude-opus-5",
    max_tokens: 100,
    tools: [{
      name: "look",
      description: "Looks.",
      input_schema: {
        type: "object",
        properties: {
          type: { type: ["string", "null"], enum: ["A"] },
          list: { type: "array", items: { type: "integer" } },
        },
      },
    }],
    system: [{ type: "text", text: "Be brief." }],
    messages: [
      {
        role: "user",
        content: [{ type: "text", text: "Hello" }, {
          type: "image",
          source: { type: "base64", media_type: "image/png", data: "iVBO" },
        }],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm", signature: "czE=" },
          { type: "tool_use", id: "call_1", name: "look", input: { a_b: 1 } },
          { type: "tool_use", id: "call_2", name: "look", input: { a_b: 2 } },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "call_1",
            content: [{ type: "text", text: "one" }],
          },
          {
            type: "tool_result",
            tool_use_id: "call_2",
            content: [{ type: "text", text: "two" }],
            is_error: true,
          },
        ],
      },
    ],
    tool_choice: { type: "tool", name: "look" },
    stop_sequences: ["END"],
    thinking: { type: "adaptive" },
    output_config: { effort: "high" },
  });
  assert.deepEqual(losses, ["generationConfig.topK"]);
});

const answer = [
  {
    type: "message_start",
    message: { id: "m1", model: "claude", usage: { input_tokens: 3 } },
  },
  {
    type: "content_block_start",
    index: 0,
    content_block: { type: "text", text: "" },
  },
  {
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: "Hi" },
  },
  { type: "content_block_stop", index: 0 },
  {
    type: "content_block_start",
    index: 1,
    content_block: { type: "tool_use", id: "c1", name: "look" },
  },
  ...['{"a":', "1}"].map((part) => ({
    type: "content_block_delta",
    index: 1,
    delta: { type: "input_json_delta", partial_json: part },
  })),
  { type: "content_block_stop", index: 1 },
  {
    type: "message_delta",
    delta: { stop_reason: "tool_use" },
    usage: { output_tokens: 9 },
  },
];

Deno.test("each event of a stream is an answer of Gemini, with whole calls", () => {
  const { reader, writer } = begin("anthropic", conversation, { stream: true });
  const text =
    [...answer.flatMap((event) => reader.event(event)), ...reader.end()]
      .map((event) => writer.event(event)).join("") + writer.end();
  const events = text.trim().split("\r\n\r\n").map((event) =>
    JSON.parse(event.replace("data: ", ""))
  );

  const parts = events.map(({ candidates: [{ content }] }) => content.parts);
  assert.deepEqual(parts, [[{ text: "Hi" }], [{
    functionCall: { id: "c1", name: "look", args: { a: 1 } },
  }]]);
  assert.equal(events.at(-1).candidates[0].finishReason, "STOP");
  assert.deepEqual(events.at(-1).usageMetadata, {
    promptTokenCount: 3,
    candidatesTokenCount: 9,
    totalTokenCount: 12,
  });
});

for (
  const [what, body] of [
    ["googleSearch", { tools: [{ googleSearch: {} }] }],
    ["cachedContent", { cachedContent: "a" }],
    ["safetySettings", {
      safetySettings: [{ category: "A", threshold: "BLOCK_LOW_AND_ABOVE" }],
    }],
    ["candidateCount", { generationConfig: { candidateCount: 2 } }],
  ] as const
) {
  Deno.test(`"${what}" of Gemini is rejected by name`, () => {
    assert.throws(
      () => begin("openai", { contents: [], ...body }),
      new RegExp(`${what}" has no counterpart`),
    );
  });
}

Deno.test("Claude does not begin to think after calls without reasoning", () => {
  const options = { model: "claude-sonnet-4-5" };
  const { contents: [first, , last], ...rest } = conversation;
  const call = { functionCall: { name: "look", args: {} } };
  const { body, losses } = begin("anthropic", {
    ...rest,
    toolConfig: undefined,
    contents: [first, { role: "model", parts: [call, call] }, last],
  }, options);

  assert.equal(body["thinking"], undefined);
  assert.ok(losses.includes("generationConfig.thinkingConfig"));
});
