import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { LlmOperation } from "../../../../src/llm/providers/operation.ts";
import { UnknownAnswerError } from "../../../../src/llm/translation/conversation/answer_fields.ts";
import {
  translate,
  type Translation,
} from "../../../../src/llm/translation/translation.ts";

const chat = { family: "openai", name: "chat/completions" } as const;
const messages = { family: "anthropic", name: "messages" } as const;

function begin(
  operation: LlmOperation,
  body: JsonObject,
  model = "gpt-5.6",
): Translation {
  return translate(operation, body, {
    target: "responses",
    model,
    id: "id-1",
    now: 0,
    unsupported: "Drop",
  });
}

/** Returns the events that a client gets of a stream. */
function stream(
  { reader, writer }: Translation,
  events: readonly JsonObject[],
): string {
  const read = [
    ...events.flatMap((event) => reader.event(event)),
    ...reader.end(),
  ];
  return read.map((event) => writer.event(event)).join("") + writer.end();
}

const created = {
  type: "response.created",
  response: { id: "resp_1", model: "gpt" },
};
const completed = {
  type: "response.completed",
  response: {
    status: "completed",
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 3 },
    },
  },
};
const thought = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Hm" }],
  encrypted_content: "gAAA.b_-",
};
const call = {
  ...{ type: "function_call", id: "fc_1", call_id: "c1", name: "look" },
  arguments: '{"a":1}',
};

Deno.test("a conversation of Anthropic becomes items of responses", () => {
  const { body, losses, operation } = begin(messages, {
    model: "m",
    max_tokens: 4,
    system: [{
      ...{ type: "text", text: "Be brief." },
      cache_control: { type: "ephemeral" },
    }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Hello" },
          {
            type: "image",
            source: { type: "base64", media_type: "image/png", data: "iVBO" },
          },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm", signature: "of-claude" },
          { type: "text", text: "I look." },
          { type: "tool_use", id: "c1", name: "look", input: { a: 1 } },
        ],
      },
      {
        role: "user",
        content: [
          {
            ...{ type: "tool_result", tool_use_id: "c1", is_error: true },
            content: "nothing",
          },
          { type: "text", text: "Again" },
        ],
      },
    ],
    tools: [{ name: "look", input_schema: { type: "object" } }],
    tool_choice: { type: "any", disable_parallel_tool_use: true },
    thinking: { type: "enabled", budget_tokens: 4000 },
    stream: true,
  });

  assert.deepEqual(operation, { family: "openai", name: "responses" });
  assert.deepEqual(losses, ["max_tokens", "reasoning of earlier turns"]);
  const image = "data:image/png;base64,iVBO";
  assert.deepEqual(body, {
    model: "gpt-5.6",
    tools: [{
      ...{ type: "function", name: "look", strict: false },
      parameters: { type: "object" },
    }],
    tool_choice: "required",
    parallel_tool_calls: false,
    input: [
      {
        ...{ type: "message", role: "system" },
        content: [{
          ...{ type: "input_text", text: "Be brief." },
          prompt_cache_breakpoint: { mode: "explicit" },
        }],
      },
      {
        ...{ type: "message", role: "user" },
        content: [
          { type: "input_text", text: "Hello" },
          { type: "input_image", detail: "auto", image_url: image },
        ],
      },
      { type: "message", role: "assistant", content: "I look." },
      {
        ...{ type: "function_call", call_id: "c1", name: "look" },
        arguments: '{"a":1}',
      },
      { type: "function_call_output", call_id: "c1", output: "Error: nothing" },
      {
        ...{ type: "message", role: "user" },
        content: [{ type: "input_text", text: "Again" }],
      },
    ],
    max_output_tokens: 16,
    reasoning: { effort: "medium", summary: "auto" },
    include: ["reasoning.encrypted_content"],
    store: false,
    stream: true,
  });
});

Deno.test("encrypted reasoning goes to Anthropic's client and back to OpenAI, and to nobody else", () => {
  const request = { model: "m", max_tokens: 9, messages: [] };
  const { reader, writer } = begin(messages, request);
  const { content } = writer.whole(
    reader.whole({ id: "resp_1", model: "gpt", output: [thought, call] }),
  );
  const next = {
    ...request,
    messages: [{ role: "assistant", content }, {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "c1", content: "x" }],
    }],
  };

  const [returned] = Array.from(begin(messages, next).body["input"] as never);
  assert.deepEqual(returned, thought);
  const claude = translate(messages, next, {
    ...{ target: "bedrock", model: "claude-opus-5", id: "i", now: 0 },
    unsupported: "Drop",
  });
  assert.doesNotMatch(JSON.stringify(claude.body), /reasoningContent/);
  assert.deepEqual(claude.losses, ["reasoning of earlier turns"]);
});

Deno.test("a stream of responses becomes that of chat completions, with calls in order", () => {
  const added = (index: number, name: string) => ({
    ...{ type: "response.output_item.added", output_index: index },
    item: { ...call, call_id: `c${index}`, name, arguments: "" },
  });
  const delta = (index: number, text: string) => ({
    ...{ type: "response.function_call_arguments.delta" },
    output_index: index,
    delta: text,
  });
  const text = stream(
    begin(chat, {
      model: "m",
      messages: [],
      stream: true,
      stream_options: { include_usage: true },
    }),
    [
      created,
      { type: "response.reasoning_summary_text.delta", delta: "Hm" },
      { type: "response.output_text.delta", output_index: 1, delta: "Hi" },
      added(2, "one"),
      added(3, "two"),
      delta(3, '{"b":2}'),
      delta(2, '{"a":1}'),
      { type: "response.output_item.done", output_index: 2, item: call },
      { type: "response.output_item.done", output_index: 3, item: call },
      completed,
    ],
  );

  const chunks = text.split("\n\n").map((each) => each.slice("data: ".length))
    .filter((each) => each.startsWith("{")).map((each) => JSON.parse(each));
  const calls = chunks.flatMap(({ choices: [choice] }) =>
    choice?.delta.tool_calls ?? []
  ).map(({ index, function: { name, arguments: json } }) =>
    `${index} ${name ?? json}`
  );
  assert.deepEqual(calls, ["0 one", '0 {"a":1}', "1 two", '1 {"b":2}']);
  assert.match(text, /"reasoning_content":"Hm"/);
  assert.match(text, /"content":"Hi"/);
  assert.match(text, /"finish_reason":"tool_calls"/);
  assert.deepEqual(chunks.at(-1).usage, {
    prompt_tokens: 10,
    completion_tokens: 7,
    total_tokens: 17,
    prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
    completion_tokens_details: { reasoning_tokens: 3 },
  });
});

Deno.test("an answer of responses that is cut or fails says so", () => {
  const request = { model: "m", messages: [], stream: true };
  const cut = stream(begin(chat, request), [created, {
    type: "response.incomplete",
    response: {
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    },
  }]);
  const failed = stream(begin(chat, request), [created, {
    type: "response.failed",
    response: {
      error: { code: "rate_limit_exceeded", message: "Try again in 3s" },
    },
  }]);

  assert.match(cut, /"finish_reason":"length"/);
  assert.match(failed, /Try again in 3s.*"code":"429"/);
  assert.throws(
    () =>
      begin(chat, request).reader.whole({ error: { message: "overloaded" } }),
    UnknownAnswerError,
  );
});

Deno.test("the gateway ends answers at stop sequences, which responses do not have", () => {
  const request = {
    ...{ model: "m", max_tokens: 9, messages: [], stream: true },
    stop_sequences: ["END", "</a>"],
  };
  const said = (...deltas: readonly string[]) =>
    stream(begin(messages, request), [
      created,
      ...deltas.map((delta) => ({ type: "response.output_text.delta", delta })),
      completed,
    ]);
  const textOf = (stream: string) =>
    Array.from(stream.matchAll(/"text_delta","text":"([^"]*)"/g), ([, t]) => t)
      .join("");

  const ended = said("Hello E", "N", "D and more", " text");
  assert.equal(textOf(ended), "Hello ");
  assert.match(ended, /"stop_reason":"stop_sequence","stop_sequence":"END"/);
  assert.match(ended, /"output_tokens":7/);
  const other = said("Hello EN", "TER <", "/b>");
  assert.equal(textOf(other), "Hello ENTER </b>");
  assert.match(other, /"stop_reason":"end_turn"/);
  assert.throws(
    () => begin(messages, { ...request, stop_sequences: ["x".repeat(300)] }),
    /at most 64 stop sequences/,
  );
});
