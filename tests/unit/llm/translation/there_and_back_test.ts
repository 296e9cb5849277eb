import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../../src/base/json.ts";
import type { LlmOperation } from "../../../../src/llm/providers/operation.ts";
import { translate } from "../../../../src/llm/translation/translation.ts";
import { fc } from "../../../harness/parsers/properties.ts";

const chat = { family: "openai", name: "chat/completions" } as const;
const options = { id: "id-1", now: 0, unsupported: "Drop" } as const;

/** A way to another API, and the names by which its losses on the way back differ from those of chats. */
interface Way {
  readonly target: "anthropic" | "gemini" | "responses";
  readonly model: string;
  readonly back: LlmOperation;
  readonly effort: string;
}

/** Translates a chat to another API and back. */
function thereAndBack(body: JsonObject, { target, model, back }: Way) {
  const there = translate(chat, body, { ...options, target, model });
  const returned = translate(back, there.body, {
    ...options,
    target: "openai",
    model: "gpt-4o",
  });
  return { body: returned.body, losses: [...there.losses, ...returned.losses] };
}

const text = fc.string({ minLength: 1, maxLength: 20 })
  .filter((each) => each.trim() !== "");
const name = fc.stringMatching(/^[a-z]{3,8}$/);
const content = fc.oneof(
  text,
  fc.array(
    fc.oneof(
      text.map((each) => ({ type: "text", text: each })),
      fc.constant({
        type: "image_url",
        image_url: { url: "data:image/png;base64,iVBORw0KGgo=" },
      }),
      fc.constant({
        type: "file",
        file: {
          filename: "a.pdf",
          file_data: "data:application/pdf;base64,JVBERi0=",
        },
      }),
    ),
    { minLength: 1, maxLength: 3 },
  ),
);

/** A question, an instruction at times, and an answer: a text, or calls and their results and a text. */
const round = fc.record({
  question: content,
  instruction: fc.option(text, { nil: undefined }),
  answer: text,
  calls: fc.array(
    fc.record({
      name,
      input: fc.dictionary(name, fc.jsonValue()),
      result: text,
    }),
    {
      maxLength: 3,
    },
  ),
});

function messagesOf(
  rounds: readonly (typeof round extends fc.Arbitrary<infer Round> ? Round
    : never)[],
): readonly JsonObject[] {
  return rounds.flatMap(({ question, instruction, answer, calls }, index) => [
    { role: "user", content: question },
    ...(instruction === undefined
      ? []
      : [{ role: "system", content: instruction }]),
    ...(calls.length === 0 ? [] : [
      {
        role: "assistant",
        content: null,
        tool_calls: calls.map((call, at) => ({
          id: `c${index}-${at}`,
          type: "function",
          function: { name: call.name, arguments: JSON.stringify(call.input) },
        })),
      },
      ...calls.map(({ result }, at) => ({
        role: "tool",
        tool_call_id: `c${index}-${at}`,
        content: result,
      })),
    ]),
    { role: "assistant", content: answer },
  ]);
}

const settings = fc.record({
  max_tokens: fc.integer({ min: 1, max: 10_000 }),
  stop: fc.array(name, { minLength: 1, maxLength: 3 }),
  user: name,
  tool_choice: fc.constantFrom("auto", "none", "required"),
  parallel_tool_calls: fc.constant(false),
  temperature: fc.constantFrom(0, 0.5, 1.5),
  top_p: fc.constantFrom(0.5, 0.9),
  seed: fc.integer(),
  frequency_penalty: fc.constantFrom(0.5, 1),
  metadata: fc.dictionary(name, name, { minKeys: 1 }),
  prompt_cache_key: name,
  reasoning_effort: fc.constantFrom("low", "high"),
}, { requiredKeys: ["max_tokens"] });

const request = fc.record({
  system: text,
  rounds: fc.array(round, { minLength: 1, maxLength: 4 }),
  tools: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }),
  settings,
}).map(({ system, rounds, tools, settings }) => ({
  model: "m",
  messages: [{ role: "system", content: system }, ...messagesOf(rounds)],
  tools: tools.map((each) => ({
    type: "function",
    function: {
      name: each,
      parameters: { type: "object", properties: { b: {}, a: {} } },
    },
  })),
  ...settings,
}));

/** A text and a list with this text are the same. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) {
    const parts = value.map(plain);
    const texts = parts.filter(isJsonObject)
      .filter(({ type }) => type === "text").map(({ text }) => text);
    return texts.length === parts.length ? texts.join("") : parts;
  }
  return value;
}

function messagesIn(body: JsonObject): readonly unknown[] {
  const list = body["messages"];
  assert(Array.isArray(list));
  return list.map((message) => {
    assert(isJsonObject(message));
    return { ...message, content: plain(message["content"]) };
  });
}

/** Says instructions in mid-conversation with the user's words, where the model takes no other. */
function inlined(list: readonly unknown[]): readonly unknown[] {
  return list.reduce<readonly unknown[]>((done, message) => {
    const last = done.at(-1);
    assert(isJsonObject(message));
    if (message["role"] !== "system" || !isJsonObject(last)) {
      return [...done, message];
    }
    const text = `<system>\n${message["content"]}\n</system>`;
    const { content } = last;
    const joined = Array.isArray(content)
      ? [...content, { type: "text", text }]
      : `${content}${text}`;
    return [...done.slice(0, -1), { ...last, content: joined }];
  }, []);
}

/** Files without their names, which some APIs have no place for. */
function unnamed(list: readonly unknown[]): unknown {
  return JSON.parse(
    JSON.stringify(list, (key, value) => key === "filename" ? "" : value),
  );
}

const ways: readonly Way[] = [
  {
    target: "anthropic",
    model: "claude-opus-4-8",
    back: { family: "anthropic", name: "messages" },
    effort: "output_config.effort",
  },
  {
    target: "gemini",
    model: "gemini-2.5-flash",
    back: { family: "gemini", name: "generateContent" },
    effort: "generationConfig.thinkingConfig",
  },
  {
    target: "responses",
    model: "gpt-5.6",
    back: { family: "openai", name: "responses" },
    effort: "reasoning.effort",
  },
];

for (const way of ways) {
  Deno.test(`a chat that is translated to ${way.target} and back loses what the losses name, and nothing else`, () => {
    fc.assert(
      fc.property(request, (original) => {
        const { body, losses } = thereAndBack(original, way);

        const sent = messagesIn(original);
        const expected = way.target === "gemini" ? inlined(sent) : sent;
        const returned = messagesIn(body);
        if (losses.includes("filename")) {
          assert.deepEqual(unnamed(returned), unnamed(expected));
        } else assert.deepEqual(returned, expected);
        assert.deepEqual(body["tools"], original.tools);
        assertSettings(original, body, losses, way);
      }),
      { numRuns: 300 },
    );
  });
}

function assertSettings(
  original: JsonObject,
  body: JsonObject,
  losses: readonly string[],
  { effort, target }: Way,
): void {
  const { messages: _messages, model: _model, tools: _tools, ...rest } =
    original;
  for (const [field, value] of Object.entries(rest)) {
    if (losses.some((each) => each.startsWith(field))) continue;
    if (field === "reasoning_effort" && losses.includes(effort)) continue;
    // Responses have none: the gateway ends the answer there.
    if (field === "stop" && target === "responses") continue;
    // Where nothing may be called, nothing is called at once.
    const callsNone = original["tool_choice"] === "none";
    if (field === "parallel_tool_calls" && callsNone) continue;
    assert.deepEqual(body[field], value, field);
  }
}
