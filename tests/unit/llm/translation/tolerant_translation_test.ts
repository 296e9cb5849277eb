import assert from "node:assert/strict";
import type { LlmFamily } from "../../../../src/llm/providers/operation.ts";
import { translate } from "../../../../src/llm/translation/translation.ts";

const options = {
  model: undefined,
  id: "id-1",
  now: 0,
  unsupported: "Drop",
} as const;
type Fields = Readonly<Record<string, unknown>>;

function fromChat(target: LlmFamily, model: string, body: Fields) {
  const operation = { family: "openai", name: "chat/completions" } as const;
  const request = { model, messages: [], ...body };
  return translate(operation, request, { ...options, target });
}

function fromMessages(target: LlmFamily, model: string, body: Fields) {
  const operation = { family: "anthropic", name: "messages" } as const;
  const request = { model, max_tokens: 100, messages: [], ...body };
  return translate(operation, request, { ...options, target });
}

const late = {
  messages: [
    { role: "user", content: "Hello" },
    { role: "system", content: "Be brief." },
    { role: "assistant", content: "Hi." },
    { role: "user", content: "So?" },
  ],
};
const inline = "<system>\nBe brief.\n</system>";

Deno.test("an instruction in mid-conversation stays at its place", () => {
  assert.deepEqual(fromMessages("openai", "m", late).body["messages"], [
    { role: "user", content: "Hello" },
    { role: "system", content: "Be brief." },
    { role: "assistant", content: "Hi." },
    { role: "user", content: "So?" },
  ]);
  assert.deepEqual(fromMessages("gemini", "m", late).body["contents"], [
    { role: "user", parts: [{ text: "Hello" }, { text: inline }] },
    { role: "model", parts: [{ text: "Hi." }] },
    { role: "user", parts: [{ text: "So?" }] },
  ]);
  assert.deepEqual(fromMessages("bedrock", "m", late).body["messages"], [
    { role: "user", content: [{ text: "Hello" }, { text: inline }] },
    { role: "assistant", content: [{ text: "Hi." }] },
    { role: "user", content: [{ text: "So?" }] },
  ]);
});

for (
  const [model, role, text] of [
    ["claude-opus-5", "system", "Be brief."],
    ["claude-sonnet-5", "user", inline],
  ] as const
) {
  Deno.test(`${model} gets it as what the ${role} says`, () => {
    const { body } = fromChat("anthropic", model, late);
    const text2 = JSON.stringify(body["messages"]);
    assert.ok(text2.includes(JSON.stringify({ type: "text", text })));
    assert.equal(text2.includes('"role":"system"'), role === "system");
  });
}

const schema = {
  type: "object",
  properties: { a: { type: "object", properties: {} } },
};
const closed = {
  type: "object",
  properties: {
    a: { type: "object", properties: {}, additionalProperties: false },
  },
  additionalProperties: false,
};
const format = {
  response_format: {
    type: "json_schema",
    json_schema: { name: "city", schema },
  },
};
const tools = [{
  type: "function",
  function: { name: "look", description: "", strict: true, parameters: {} },
}];

Deno.test("Claude answers in a schema beside tools and reasoning", () => {
  const { body, losses } = fromChat("anthropic", "claude-sonnet-4-6", {
    ...format,
    tools,
    reasoning_effort: "high",
  });

  assert.deepEqual(body["output_config"], {
    effort: "high",
    format: { type: "json_schema", schema: closed },
  });
  assert.deepEqual(body["thinking"], { type: "adaptive" });
  assert.deepEqual(body["tools"], [{
    name: "look",
    input_schema: { type: "object" },
    strict: true,
  }]);
  assert.equal(body["tool_choice"], undefined);
  assert.deepEqual(losses, []);
});

Deno.test("Converse answers in a schema, with an effort and strict tools", () => {
  const model = "us.anthropic.claude-sonnet-4-6";
  const { body, losses } = fromChat("bedrock", model, {
    ...format,
    tools,
    reasoning_effort: "high",
  });

  assert.deepEqual(body["outputConfig"], {
    textFormat: {
      type: "json_schema",
      structure: {
        jsonSchema: { name: "city", schema: JSON.stringify(closed) },
      },
    },
    effort: "high",
  });
  assert.deepEqual(body["additionalModelRequestFields"], {
    thinking: { type: "adaptive" },
  });
  assert.deepEqual(body["toolConfig"], {
    tools: [{
      toolSpec: {
        name: "look",
        inputSchema: { json: { type: "object" } },
        strict: true,
      },
    }],
  });
  assert.deepEqual(losses, []);
});

const efforts: readonly (readonly [LlmFamily, string, string, Fields])[] = [
  ["openai", "gpt-5.6", "max", { reasoning_effort: "max" }],
  ["openai", "gpt-5.2", "max", { reasoning_effort: "xhigh" }],
  ["openai", "gpt-5", "none", { reasoning_effort: "minimal" }],
  ["openai", "gpt-4o", "high", {}],
  ["openai", "o3", "xhigh", { reasoning_effort: "high" }],
  ["openai", "qwen3", "low", { reasoning_effort: "low" }],
  ["anthropic", "claude-opus-5", "xhigh", {
    thinking: { type: "adaptive" },
    output_config: { effort: "xhigh" },
  }],
  ["anthropic", "claude-sonnet-4-6", "xhigh", {
    thinking: { type: "adaptive" },
    output_config: { effort: "high" },
  }],
  ["anthropic", "claude-sonnet-4-5", "medium", {
    max_tokens: 12_288,
    thinking: { type: "enabled", budget_tokens: 8192 },
  }],
  ["gemini", "gemini-3-pro", "minimal", {
    generationConfig: {
      thinkingConfig: { thinkingLevel: "LOW", includeThoughts: true },
    },
  }],
  ["gemini", "gemini-2.5-pro", "none", {
    generationConfig: { thinkingConfig: { thinkingBudget: 128 } },
  }],
  ["bedrock", "openai.gpt-oss-120b-1:0", "xhigh", {
    additionalModelRequestFields: { reasoning_effort: "high" },
  }],
];

for (const [target, model, effort, expected] of efforts) {
  Deno.test(`${model} reasons as it can when the effort is ${effort}`, () => {
    const { body } = target === "openai"
      ? fromMessages(target, model, {
        output_config: effort === "none" ? {} : { effort },
        ...(effort === "none" && { thinking: { type: "disabled" } }),
      })
      : fromChat(target, model, { reasoning_effort: effort });
    const { messages: _messages, contents: _contents, ...rest } = body;
    assert.deepEqual(rest, {
      ...(target === "openai" && { model, max_tokens: 100 }),
      ...(target === "anthropic" && { model, max_tokens: 4096 }),
      ...expected,
    });
  });
}

const pdf = "data:application/pdf;base64,JVBERi0=";

Deno.test("a PDF is a document everywhere", () => {
  const body = {
    messages: [{
      role: "user",
      content: [{
        type: "file",
        file: { filename: "Report (new).v2.pdf", file_data: pdf },
      }],
    }],
  };
  const written = (target: LlmFamily) =>
    JSON.stringify(fromChat(target, "m", body).body);

  assert.ok(
    written("anthropic").includes(
      '{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="},"title":"Report (new).v2.pdf"}',
    ),
  );
  assert.ok(
    written("gemini").includes(
      '{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0="}}',
    ),
  );
  assert.ok(
    written("bedrock").includes(
      '[{"document":{"format":"pdf","name":"Report (new) v2 1","source":{"bytes":"JVBERi0="}}},{"text":"(empty)"}]',
    ),
  );
});

Deno.test("Bedrock gets no blank text and no empty description", () => {
  const { body } = fromMessages("bedrock", "m", {
    system: " ",
    messages: [
      { role: "user", content: "Hello" },
      {
        role: "assistant",
        content: [{ type: "text", text: "" }, {
          type: "tool_use",
          id: "t1",
          name: "mcp.server.look",
          input: {},
        }],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "t1", content: "" }],
      },
      { role: "assistant", content: " " },
      { role: "user", content: "So?" },
    ],
  });

  const name = "mcp_server_look_64e8c619";
  assert.deepEqual(body["messages"], [
    { role: "user", content: [{ text: "Hello" }] },
    {
      role: "assistant",
      content: [{ toolUse: { toolUseId: "t1", name, input: {} } }],
    },
    {
      role: "user",
      content: [
        { toolResult: { toolUseId: "t1", content: [{ text: "(empty)" }] } },
        { text: "So?" },
      ],
    },
  ]);
  // Bedrock rejects calls of tools that a request does not have.
  assert.deepEqual(body["toolConfig"], {
    tools: [{
      toolSpec: {
        name,
        description: "This tool is no longer available.",
        inputSchema: { json: { type: "object" } },
      },
    }],
  });
  assert.equal(body["system"], undefined);
});

Deno.test("the client gets back the names of tools that it has sent", () => {
  const { body, reader, writer } = fromMessages("bedrock", "m", {
    tools: [{ name: "mcp.look", input_schema: { type: "object" } }],
  });
  const [tool] = JSON.stringify(body).match(/mcp_look_\w+/) ?? [];
  const answer = writer.whole(reader.whole({
    output: {
      message: {
        content: [{ toolUse: { toolUseId: "t1", name: tool, input: {} } }],
      },
    },
    stopReason: "tool_use",
  }));

  assert.deepEqual(answer["content"], [
    { type: "tool_use", id: "t1", name: "mcp.look", input: {} },
  ]);
});

for (const signature of ["aGVsbG8-_w==", "aGVsbG8+/w==", "aGVsbG8"]) {
  Deno.test(`a signature of Gemini comes back in the id of the call: ${signature}`, () => {
    const { reader, writer } = fromMessages("gemini", "gemini-3-pro", {});
    const answer = writer.whole(reader.whole({
      candidates: [{
        content: {
          parts: [{
            functionCall: { name: "look", args: {} },
            thoughtSignature: signature,
          }],
        },
      }],
    }));
    const { body } = fromMessages("gemini", "gemini-3-pro", {
      messages: [{ role: "assistant", content: answer["content"] }],
    });

    assert.match(JSON.stringify(answer), /"id":"[\w-]+"/);
    assert.deepEqual(body["contents"], [{
      role: "model",
      parts: [{
        functionCall: { id: "call_1_id-1", name: "look", args: {} },
        thoughtSignature: signature.padEnd(
          Math.ceil(signature.length / 4) * 4,
          "=",
        ),
      }],
    }]);
  });
}

Deno.test("Gemini 3 takes calls of another model", () => {
  const call = { type: "tool_use", id: "t1", name: "look", input: {} };
  const { body } = fromMessages("gemini", "gemini-3-flash", {
    messages: [{ role: "assistant", content: [call, { ...call, id: "t2" }] }],
  });

  const text = JSON.stringify(body);
  assert.equal(text.split("skip_thought_signature_validator").length, 2);
});

Deno.test("two tools with the same name are an error", () => {
  const tool = { name: "a", input_schema: {} };
  assert.throws(
    () => fromMessages("openai", "m", { tools: [tool, tool] }),
    /several with the same name/,
  );
});

Deno.test("Gemini gets the keywords of schemas that it knows", () => {
  const { body } = fromMessages("gemini", "m", {
    tools: [{
      name: "look",
      input_schema: {
        $schema: "http://json-schema.org/draft-07/schema#",
        type: "object",
        properties: {
          const: { const: "a" },
          limit: {
            type: "number",
            exclusiveMinimum: 0,
            default: { $schema: 1 },
          },
          old: { type: "number", minimum: 0, exclusiveMinimum: true },
          any: { anyOf: [{ type: "string", examples: ["a"] }] },
        },
        propertyNames: { type: "string" },
        required: ["const"],
      },
    }],
  });

  const [{ functionDeclarations: [tool] }] = JSON.parse(
    JSON.stringify(body["tools"]),
  );
  assert.deepEqual(tool.parametersJsonSchema, {
    type: "object",
    properties: {
      const: { enum: ["a"] },
      limit: { type: "number", minimum: 0, default: { $schema: 1 } },
      old: { type: "number", minimum: 0 },
      any: { anyOf: [{ type: "string" }] },
    },
    required: ["const"],
  });
});

Deno.test("GPT-4o gets no larger limit than it accepts, as agents for other models have", () => {
  const { body, losses } = fromMessages("openai", "gpt-4o", {
    max_tokens: 32_000,
  });
  const { body: newer } = fromMessages("openai", "gpt-5.2", {
    max_tokens: 32_000,
  });

  assert.equal(body["max_tokens"], 16_384);
  assert.deepEqual(losses, ["max_tokens"]);
  assert.equal(newer["max_tokens"], 32_000);
});
