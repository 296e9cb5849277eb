import assert from "node:assert/strict";
import type { LlmFamily } from "../../../../src/llm/providers/operation.ts";
import { translate } from "../../../../src/llm/translation/translation.ts";

const operation = { family: "openai", name: "responses" } as const;

function begin(
  target: LlmFamily,
  body: Readonly<Record<string, unknown>>,
) {
  return translate(operation, { model: "claude-opus-5", ...body }, {
    target,
    model: undefined,
    id: "id-1",
    now: 0,
    unsupported: "Drop",
  });
}

const lookup = {
  type: "namespace",
  name: "agents",
  tools: [{ type: "function", name: "close", parameters: { type: "object" } }],
};
const patch = {
  type: "custom",
  name: "apply_patch",
  description: "Patches files.",
  format: { type: "grammar", syntax: "lark", definition: "start: x" },
};
const conversation = {
  instructions: "Be brief.",
  input: [
    { type: "message", role: "developer", content: "Rules." },
    { role: "user", content: [{ type: "input_text", text: "Hello" }] },
    {
      type: "function_call",
      id: "fc_1",
      call_id: "c1",
      namespace: "agents",
      name: "close",
      arguments: '{"a":1}',
    },
    {
      type: "custom_tool_call",
      call_id: "c2",
      name: "apply_patch",
      input: "*** Begin",
    },
    { type: "function_call_output", call_id: "c1", output: "closed" },
    { type: "custom_tool_call_output", call_id: "c2", output: "done" },
  ],
  tools: [lookup, patch, { type: "web_search", external_web_access: true }],
  store: false,
  include: ["reasoning.encrypted_content"],
  prompt_cache_key: "k",
};

Deno.test("items of responses become turns, and tools of namespaces functions", () => {
  const { body, losses } = begin("anthropic", conversation);

  assert.deepEqual(body["system"], [
    { type: "text", text: "Be brief." },
    { type: "text", text: "Rules." },
  ]);
  assert.deepEqual(body["messages"], [
    { role: "user", content: [{ type: "text", text: "Hello" }] },
    {
      role: "assistant",
      content: [
        { type: "tool_use", id: "c1", name: "agents__close", input: { a: 1 } },
        {
          type: "tool_use",
          id: "c2",
          name: "apply_patch",
          input: { input: "*** Begin" },
        },
      ],
    },
    {
      role: "user",
      content: ["closed", "done"].map((text, index) => ({
        type: "tool_result",
        tool_use_id: `c${index + 1}`,
        content: [{ type: "text", text }],
      })),
    },
  ]);
  assert.match(JSON.stringify(body["tools"]), /follows this grammar.*start: x/);
  assert.deepEqual(losses, ["tools[].type: web_search", "prompt_cache_key"]);
});

const stream = [
  {
    type: "message_start",
    message: { id: "m1", model: "claude", usage: { input_tokens: 3 } },
  },
  {
    type: "content_block_start",
    index: 0,
    content_block: { type: "thinking", thinking: "" },
  },
  {
    type: "content_block_delta",
    index: 0,
    delta: { type: "thinking_delta", thinking: "Hm" },
  },
  {
    type: "content_block_delta",
    index: 0,
    delta: { type: "signature_delta", signature: "s1" },
  },
  {
    type: "content_block_start",
    index: 1,
    content_block: { type: "text", text: "" },
  },
  {
    type: "content_block_delta",
    index: 1,
    delta: { type: "text_delta", text: "Hi" },
  },
  { type: "content_block_stop", index: 1 },
  {
    type: "content_block_start",
    index: 2,
    content_block: { type: "tool_use", id: "c1", name: "agents__close" },
  },
  {
    type: "content_block_delta",
    index: 2,
    delta: { type: "input_json_delta", partial_json: '{"a":1}' },
  },
  { type: "content_block_stop", index: 2 },
  {
    type: "content_block_start",
    index: 3,
    content_block: { type: "tool_use", id: "c2", name: "apply_patch" },
  },
  {
    type: "content_block_delta",
    index: 3,
    delta: { type: "input_json_delta", partial_json: '{"input":"*** End"}' },
  },
  { type: "content_block_stop", index: 3 },
  {
    type: "message_delta",
    delta: { stop_reason: "tool_use" },
    usage: { output_tokens: 9 },
  },
];

function streamed() {
  const { reader, writer } = begin("anthropic", conversation);
  const text =
    [...stream.flatMap((event) => reader.event(event)), ...reader.end()]
      .map((event) => writer.event(event)).join("") + writer.end();
  return text.trim().split("\n\n").map((event) => {
    const [name = "", data = ""] = event.split("\n");
    const parsed = JSON.parse(data.replace("data: ", ""));
    assert.equal(name, `event: ${parsed.type}`);
    return parsed;
  });
}

Deno.test("a stream of responses has its events in the order of OpenAI's", () => {
  const events = streamed();

  assert.deepEqual(
    events.map(({ type }) => type.replace("response.", "")),
    [
      ...["created", "in_progress"],
      ...["output_item.added", "reasoning_summary_part.added"],
      ...["reasoning_summary_text.delta", "reasoning_summary_text.done"],
      ...["reasoning_summary_part.done", "output_item.done"],
      ...["output_item.added", "content_part.added", "output_text.delta"],
      ...["output_text.done", "content_part.done", "output_item.done"],
      ...["output_item.added", "function_call_arguments.delta"],
      ...["function_call_arguments.done", "output_item.done"],
      ...["output_item.added", "custom_tool_call_input.delta"],
      ...["custom_tool_call_input.done", "output_item.done"],
      "completed",
    ],
  );
  events.forEach((event, index) => assert.equal(event.sequence_number, index));
  const { response } = events.at(-1);
  assert.equal(response.status, "completed");
  assert.deepEqual(response.usage, {
    input_tokens: 3,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 9,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 12,
  });
  const [reasoning, message, call, custom] = response.output;
  assert.deepEqual(reasoning.summary, [{ type: "summary_text", text: "Hm" }]);
  assert.equal(message.content[0].text, "Hi");
  assert.deepEqual(
    [call.type, call.namespace, call.name, call.arguments],
    ["function_call", "agents", "close", '{"a":1}'],
  );
  assert.deepEqual(
    [custom.type, custom.name, custom.input],
    ["custom_tool_call", "apply_patch", "*** End"],
  );
});

Deno.test("reasoning comes back to its provider with its signature", () => {
  const { output } = streamed().at(-1).response;
  const { body } = begin("anthropic", {
    input: [{ role: "user", content: "Hello" }, ...output],
    tools: conversation.tools,
  });

  const [, turn] = JSON.parse(JSON.stringify(body["messages"]));
  assert.deepEqual(turn.content.slice(0, 2), [
    { type: "thinking", thinking: "Hm", signature: "s1" },
    { type: "text", text: "Hi" },
  ]);
});

for (
  const [what, body, message] of [
    ["a search alone", { tools: [{ type: "web_search" }] }, /web_search/],
    ["a tool of OpenAI", {
      tools: [{ type: "code_interpreter" }],
    }, /tools\[0\]\.type: code_interpreter/],
    ["work in the background", { background: true }, /"background"/],
  ] as const
) {
  Deno.test(`a request for ${what} is rejected by name`, () => {
    assert.throws(() => begin("gemini", { input: "Hi", ...body }), message);
  });
}

Deno.test("only allowed tools reach the model", () => {
  const tool = (name: string) => ({ type: "function", name });
  const { body } = begin("anthropic", {
    input: "Hi",
    tools: [tool("a"), tool("b")],
    tool_choice: {
      type: "allowed_tools",
      mode: "required",
      tools: [tool("b")],
    },
  });

  assert.deepEqual(body["tool_choice"], { type: "any" });
  assert.doesNotMatch(JSON.stringify(body["tools"]), /"a"/);
});

Deno.test("an answer that is cut is incomplete, and says why", () => {
  const { reader, writer } = begin("anthropic", { input: "Hi" });
  const answer = writer.whole(reader.whole({
    id: "m1",
    content: [{ type: "text", text: "Hel" }],
    stop_reason: "max_tokens",
  }));

  assert.equal(answer["status"], "incomplete");
  assert.deepEqual(answer["incomplete_details"], {
    reason: "max_output_tokens",
  });
});
