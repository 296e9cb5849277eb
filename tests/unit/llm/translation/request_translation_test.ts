import assert from "node:assert/strict";
import type { LlmFamily } from "../../../../src/llm/providers/operation.ts";
import { translate } from "../../../../src/llm/translation/translation.ts";

const chat = { family: "openai", name: "chat/completions" } as const;
const messages = { family: "anthropic", name: "messages" } as const;
const options = {
  model: undefined,
  id: "id-1",
  now: 0,
  unsupported: "Drop",
} as const;

function fromChat(target: LlmFamily, body: Readonly<Record<string, unknown>>) {
  const request = { model: "m", messages: [], ...body };
  return translate(chat, request, { ...options, target }).body;
}

const image = "data:image/png;base64,iVBORw0KGgo=";
const conversation = {
  messages: [
    { role: "system", content: "Be brief." },
    {
      role: "user",
      content: [{ type: "text", text: "What is this?" }, {
        type: "image_url",
        image_url: { url: image },
      }],
    },
    {
      role: "assistant",
      content: "A picture.",
      reasoning_content: "Hm.",
      thinking_blocks: [{ type: "thinking", thinking: "Hm.", signature: "s1" }],
      tool_calls: [{
        id: "t1",
        type: "function",
        function: { name: "look", arguments: '{"at":1}' },
        extra_content: { google: { thought_signature: "g1" } },
      }],
    },
    { role: "tool", tool_call_id: "t1", content: "a cat" },
    { role: "user", content: "So?" },
  ],
  tools: [{
    type: "function",
    function: { name: "look", parameters: { type: "object" } },
  }],
  tool_choice: "required",
  max_completion_tokens: 50,
  temperature: 0.5,
  top_p: 0.9,
  stop: "END",
};

Deno.test("a conversation becomes Anthropic's", () => {
  assert.deepEqual(fromChat("anthropic", { ...conversation, user: "u1" }), {
    model: "m",
    max_tokens: 50,
    system: [{ type: "text", text: "Be brief." }],
    messages: [
      {
        role: "user",
        content: [{ type: "text", text: "What is this?" }, {
          type: "image",
          source: {
            type: "base64",
            media_type: "image/png",
            data: "iVBORw0KGgo=",
          },
        }],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "s1" },
          { type: "text", text: "A picture." },
          { type: "tool_use", id: "t1", name: "look", input: { at: 1 } },
        ],
      },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "t1",
          content: [{ type: "text", text: "a cat" }],
        }, { type: "text", text: "So?" }],
      },
    ],
    tools: [{ name: "look", input_schema: { type: "object" } }],
    tool_choice: { type: "any" },
    temperature: 0.5,
    top_p: 0.9,
    stop_sequences: ["END"],
    metadata: { user_id: "u1" },
  });
});

Deno.test("a conversation becomes Gemini's", () => {
  assert.deepEqual(fromChat("gemini", { ...conversation, seed: 7 }), {
    contents: [
      {
        role: "user",
        parts: [{ text: "What is this?" }, {
          inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" },
        }],
      },
      {
        role: "model",
        parts: [{ text: "A picture." }, {
          functionCall: { id: "t1", name: "look", args: { at: 1 } },
          thoughtSignature: "g1",
        }],
      },
      {
        role: "user",
        parts: [{
          functionResponse: {
            id: "t1",
            name: "look",
            response: { result: "a cat" },
          },
        }, { text: "So?" }],
      },
    ],
    systemInstruction: { parts: [{ text: "Be brief." }] },
    tools: [{
      functionDeclarations: [{
        name: "look",
        parametersJsonSchema: { type: "object" },
      }],
    }],
    toolConfig: { functionCallingConfig: { mode: "ANY" } },
    generationConfig: {
      maxOutputTokens: 50,
      temperature: 0.5,
      topP: 0.9,
      seed: 7,
      stopSequences: ["END"],
    },
  });
});

Deno.test("a conversation becomes Bedrock's", () => {
  assert.deepEqual(fromChat("bedrock", conversation), {
    messages: [
      {
        role: "user",
        content: [{ text: "What is this?" }, {
          image: { format: "png", source: { bytes: "iVBORw0KGgo=" } },
        }],
      },
      {
        role: "assistant",
        content: [
          {
            reasoningContent: {
              reasoningText: { text: "Hm.", signature: "s1" },
            },
          },
          { text: "A picture." },
          { toolUse: { toolUseId: "t1", name: "look", input: { at: 1 } } },
        ],
      },
      {
        role: "user",
        content: [
          { toolResult: { toolUseId: "t1", content: [{ text: "a cat" }] } },
          { text: "So?" },
        ],
      },
    ],
    system: [{ text: "Be brief." }],
    inferenceConfig: {
      maxTokens: 50,
      temperature: 0.5,
      topP: 0.9,
      stopSequences: ["END"],
    },
    toolConfig: {
      tools: [{
        toolSpec: { name: "look", inputSchema: { json: { type: "object" } } },
      }],
      toolChoice: { any: {} },
    },
  });
});

Deno.test("Anthropic's messages become a chat of OpenAI", () => {
  const { body } = translate(messages, {
    model: "m",
    max_tokens: 10,
    system: [{
      type: "text",
      text: "Be brief.",
      cache_control: { type: "ephemeral" },
    }],
    messages: [
      {
        role: "user",
        content: [{
          type: "image",
          source: { type: "base64", media_type: "image/png", data: "iVBO" },
        }],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "s1" },
          { type: "tool_use", id: "t1", name: "look", input: { at: 1 } },
        ],
      },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "t1",
          is_error: true,
          content: "no eyes",
        }],
      },
    ],
    tools: [{ name: "look", input_schema: { type: "object" } }],
    tool_choice: {
      type: "tool",
      name: "look",
      disable_parallel_tool_use: true,
    },
    thinking: { type: "enabled", budget_tokens: 4000 },
    stream: true,
  }, { ...options, target: "openai" });

  assert.deepEqual(body, {
    model: "m",
    messages: [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [{
          type: "image_url",
          image_url: { url: "data:image/png;base64,iVBO" },
        }],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{
          id: "t1",
          type: "function",
          function: { name: "look", arguments: '{"at":1}' },
        }],
      },
      { role: "tool", tool_call_id: "t1", content: "Error: no eyes" },
    ],
    tools: [{
      type: "function",
      function: { name: "look", parameters: { type: "object" } },
    }],
    tool_choice: { type: "function", function: { name: "look" } },
    parallel_tool_calls: false,
    max_tokens: 10,
    reasoning_effort: "medium",
    stream: true,
    stream_options: { include_usage: true },
  });
});

Deno.test("without a limit, reasoning gets its tokens on top of those of the answer", () => {
  const anthropic = fromChat("anthropic", { reasoning_effort: "low" });
  assert.deepEqual(anthropic["thinking"], {
    type: "enabled",
    budget_tokens: 1024,
  });
  assert.equal(anthropic["max_tokens"], 5120);
});

for (
  const [limit, budget] of [[30_000, 24_576], [24_576, 19_660], [1100, 1024]]
) {
  Deno.test(`a limit of ${limit} tokens holds with reasoning`, () => {
    const body = { reasoning_effort: "high", max_completion_tokens: limit };
    const model = "anthropic.claude";
    const thinking = { type: "enabled", budget_tokens: budget };

    const anthropic = fromChat("anthropic", body);
    assert.deepEqual(anthropic["thinking"], thinking);
    assert.equal(anthropic["max_tokens"], limit);
    const converse = fromChat("bedrock", { ...body, model });
    assert.deepEqual(converse["additionalModelRequestFields"], { thinking });
    assert.deepEqual(converse["inferenceConfig"], { maxTokens: limit });
    assert.deepEqual(fromChat("gemini", body)["generationConfig"], {
      maxOutputTokens: limit,
      thinkingConfig: { thinkingBudget: 24_576, includeThoughts: true },
    });
  });
}

Deno.test("with a limit that is too small for it, the model does not reason", () => {
  const body = { reasoning_effort: "low", max_tokens: 1024 };
  for (const target of ["anthropic", "bedrock"] as const) {
    const { body: written, losses } = translate(
      chat,
      { model: "anthropic.claude", messages: [], ...body },
      { ...options, target },
    );
    assert.ok(!JSON.stringify(written).includes("thinking"));
    assert.deepEqual(losses, ["reasoning_effort"]);
  }
});

const schema = { type: "object", properties: { a: { type: "number" } } };
const jsonFormat = {
  response_format: { type: "json_schema", json_schema: { name: "a", schema } },
};

Deno.test("a format of the answer is Gemini's own, and a tool elsewhere", () => {
  assert.deepEqual(fromChat("gemini", jsonFormat)["generationConfig"], {
    responseMimeType: "application/json",
    responseJsonSchema: schema,
  });
  const anthropic = fromChat("anthropic", jsonFormat);
  assert.deepEqual(anthropic["tool_choice"], {
    type: "tool",
    name: "answer_as_json",
  });
});

const targets = ["anthropic", "gemini", "bedrock"] as const;
type Case = readonly [
  string,
  Readonly<Record<string, unknown>>,
  readonly LlmFamily[],
];
const named = { messages: [{ role: "user", name: "Anna", content: "a" }] };
const strictTool = {
  tools: [{ type: "function", function: { name: "a", strict: true } }],
};
const image2 = {
  messages: [{
    role: "user",
    content: [{ type: "image_url", image_url: { url: image, detail: "low" } }],
  }],
};

const hints: readonly Case[] = [
  ["prediction", { prediction: { type: "content", content: "a" } }, targets],
  ["verbosity", { verbosity: "low" }, targets],
  ["store", { store: true }, targets],
  ["metadata", { metadata: { a: "b" } }, targets],
  ["service_tier", { service_tier: "flex" }, targets],
  ["prompt_cache_key", { prompt_cache_key: "a" }, targets],
  ["seed", { seed: 1 }, ["anthropic", "bedrock"]],
  ["frequency_penalty", { frequency_penalty: 1 }, ["anthropic", "bedrock"]],
  ["presence_penalty", { presence_penalty: 1 }, ["anthropic", "bedrock"]],
  ["temperature", { temperature: 1.5 }, ["anthropic"]],
  ["user", { user: "u1" }, ["gemini"]],
  ["reasoning_effort", { reasoning_effort: "high" }, ["bedrock"]],
  ["parallel_tool_calls", { parallel_tool_calls: false }, [
    "gemini",
    "bedrock",
  ]],
  ["tools[].function.strict", strictTool, targets],
  ["messages[].name", named, targets],
  ["messages[].content[].image_url.detail", image2, targets],
];

for (const [field, body, families] of hints) {
  for (const target of families) {
    Deno.test(`"${field}" is a hint, which ${target} does not get`, () => {
      const request = { model: "m", messages: [], ...body };
      const { losses } = translate(chat, request, { ...options, target });
      const strict = { ...options, target, unsupported: "Reject" } as const;

      assert.deepEqual(losses, [field]);
      assert.throws(() => translate(chat, request, strict), (error) => {
        assert(error instanceof Error);
        const { message } = error;
        assert.ok(message.replace(/\[\d\]/g, "[]").includes(`"${field}"`));
        return true;
      });
    });
  }
}

const refused: readonly Case[] = [
  ["n", { n: 2 }, targets],
  ["logprobs", { logprobs: true }, targets],
  ["top_logprobs", { top_logprobs: 2 }, targets],
  ["logit_bias", { logit_bias: { 1: 5 } }, targets],
  ["modalities", { modalities: ["audio"] }, targets],
  ["functions", { functions: [] }, targets],
  ["something_new", { something_new: 1 }, targets],
  ["messages[0].content[0].type: input_audio", {
    messages: [{
      role: "user",
      content: [{ type: "input_audio", input_audio: {} }],
    }],
  }, targets],
  ["image_url", {
    messages: [{
      role: "user",
      content: [{ type: "image_url", image_url: { url: "https://a/b.png" } }],
    }],
  }, ["bedrock"]],
  ["tools[0].type", { tools: [{ type: "web_search" }] }, targets],
  ["response_format with tools", {
    ...jsonFormat,
    tools: conversation.tools,
  }, ["anthropic", "bedrock"]],
];

for (const [field, body, families] of refused) {
  for (const target of families) {
    Deno.test(`"${field}" is refused by name for ${target}`, () => {
      assert.throws(() => fromChat(target, body), (error) => {
        assert(error instanceof Error);
        assert.ok(error.message.includes(`"${field}`), error.message);
        assert.match(error.message, /has no counterpart/);
        return true;
      });
    });
  }
}

for (
  const [what, body, message] of [
    ["no messages", { messages: "a" }, /"messages" must be a list/],
    ["no model", { model: 5 }, /"model" must be a string/],
    ["a turn that is no object", { messages: [5] }, /"messages\[0\]" must be/],
    ["arguments that are no JSON", {
      messages: [{
        role: "assistant",
        tool_calls: [{ id: "1", function: { name: "a", arguments: "{" } }],
      }],
    }, /"messages\[0\]\.tool_calls\[0\]\.function\.arguments" must be a JSON/],
    ["a result without its call", {
      messages: [{ role: "tool", content: "a" }],
    }, /"messages\[0\]\.tool_call_id" is missing/],
  ] as const
) {
  Deno.test(`a chat with ${what} is an error that names the field`, () => {
    assert.throws(() => fromChat("anthropic", body), message);
  });
}
