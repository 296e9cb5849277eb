import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../../../src/base/json.ts";
import type { LlmFamily } from "../../../../src/llm/providers/operation.ts";
import {
  indexOf,
  objectOf,
  objectsOf,
} from "../../../../src/llm/translation/conversation/answer_fields.ts";
import { translate } from "../../../../src/llm/translation/translation.ts";
import { createRandom } from "../../../harness/clients/mutations.ts";

type Random = () => number;

interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
}

/** A stream of a provider: events that begin and end a call, and those with pieces of its input. */
interface Provider {
  readonly first: readonly JsonObject[];
  begin(call: Call, index: number): JsonObject;
  piece(call: Call, index: number, json: string): JsonObject;
  end(index: number): readonly JsonObject[];
  text(text: string): JsonObject;
  readonly last: readonly JsonObject[];
}

const TEXT_INDEX = 99;

const providers: Readonly<Partial<Record<LlmFamily, Provider>>> = {
  openai: {
    first: [{ id: "c", model: "m", choices: [{ delta: {} }] }],
    begin: ({ id, name }, index) =>
      chatDelta({ index, id, function: { name } }),
    piece: (_, index, json) =>
      chatDelta({ index, function: { arguments: json } }),
    end: () => [],
    text: (content) => ({ choices: [{ index: 0, delta: { content } }] }),
    last: [{ choices: [{ delta: {}, finish_reason: "tool_calls" }] }],
  },
  anthropic: {
    first: [{ type: "message_start", message: { id: "c", model: "m" } }],
    begin: ({ id, name }, index) => ({
      type: "content_block_start",
      index,
      content_block: { type: "tool_use", id, name, input: {} },
    }),
    piece: (_, index, json) => ({
      type: "content_block_delta",
      index,
      delta: { type: "input_json_delta", partial_json: json },
    }),
    end: (index) => [{ type: "content_block_stop", index }],
    text: (text) => ({
      type: "content_block_delta",
      index: TEXT_INDEX,
      delta: { type: "text_delta", text },
    }),
    last: [{ type: "message_delta", delta: { stop_reason: "tool_use" } }],
  },
  bedrock: {
    first: [{ role: "assistant" }],
    begin: ({ id, name }, contentBlockIndex) => ({
      contentBlockIndex,
      start: { toolUse: { toolUseId: id, name } },
    }),
    piece: (_, contentBlockIndex, input) => ({
      contentBlockIndex,
      delta: { toolUse: { input } },
    }),
    end: (contentBlockIndex) => [{ contentBlockIndex }],
    text: (text) => ({ contentBlockIndex: TEXT_INDEX, delta: { text } }),
    last: [{ stopReason: "tool_use" }, {
      usage: { inputTokens: 1, outputTokens: 1 },
    }],
  },
};

function chatDelta(call: JsonObject): JsonObject {
  return { choices: [{ index: 0, delta: { tool_calls: [call] } }] };
}

for (const target of ["openai", "anthropic", "bedrock"] as const) {
  for (const client of ["openai", "anthropic"] as const) {
    Deno.test(`calls whose arguments ${target} interleaves reach clients of ${client} as they are`, () => {
      const random = createRandom(7);
      for (let round = 0; round < 150; round++) {
        const calls = createCalls(random);
        const { events, text } = interleave(target, calls, random);
        const written = write(client, target, events);
        const read = client === "openai" ? readChat : readMessages;
        assert.deepEqual(read(written), { calls, text });
      }
    });
  }
}

function createCalls(random: Random): readonly Call[] {
  const count = 1 + Math.floor(random() * 5);
  return Array.from({ length: count }, (_, index) => ({
    id: `id${index}`,
    name: `tool${index % 2}`,
    input: random() < 0.2 ? {} : {
      [`k"}{\\${index}`]: ['}]"\\', { deep: [index, "{["] }],
      text: "é👋".repeat(Math.floor(random() * 4)),
    },
  }));
}

/** Interleaves pieces of all calls and of text; calls begin in order. */
function interleave(
  target: LlmFamily,
  calls: readonly Call[],
  random: Random,
) {
  const provider = providers[target];
  assert(provider !== undefined);
  const queues = calls.map((call, index) => [
    provider.begin(call, index),
    ...cut(JSON.stringify(call.input), random).map((json) =>
      provider.piece(call, index, json)
    ),
    ...provider.end(index),
  ]);
  const events: JsonObject[] = [];
  let [text, begun] = ["", 0];
  for (;;) {
    const open = queues.filter((queue, index) =>
      queue.length > 0 && index <= begun
    );
    if (open.length === 0) break;
    const queue = open[Math.floor(random() * open.length)];
    const event = queue?.shift();
    if (event !== undefined) events.push(event);
    if (queue === queues[begun]) begun++;
    if (random() < 0.1) {
      const word = `word${events.length} `;
      text += word;
      events.push(provider.text(word));
    }
  }
  return { events: [...provider.first, ...events, ...provider.last], text };
}

function cut(text: string, random: Random): readonly string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length;) {
    const length = 1 + Math.floor(random() * 8);
    pieces.push(text.slice(start, start + length));
    start += length;
  }
  return pieces;
}

function write(
  family: "openai" | "anthropic",
  target: LlmFamily,
  events: readonly JsonObject[],
): string {
  const { reader, writer } = begin(family, target);
  const written = events.flatMap((event) => reader.event(event));
  const all = [...written, ...reader.end()];
  return all.map((event) => writer.event(event)).join("") + writer.end();
}

function begin(family: "openai" | "anthropic", target: LlmFamily) {
  const name = family === "openai" ? "chat/completions" : "messages";
  return translate(
    { family, name },
    { model: "m", max_tokens: 1, messages: [], stream: true },
    { target, model: undefined, id: "id", now: 0, unsupported: "Drop" },
  );
}

function dataOf(stream: string): readonly JsonObject[] {
  return stream.split("\n").flatMap((line) => {
    if (!line.startsWith("data: {")) return [];
    const data: unknown = JSON.parse(line.slice("data: ".length));
    return isJsonObject(data) ? [data] : [];
  });
}

/** Reads a chat as the SDK of OpenAI does, by the index. */
function readChat(stream: string) {
  const calls: Written[] = [];
  let text = "";
  for (const event of dataOf(stream)) {
    const [choice = {}] = objectsOf(event, "choices");
    const delta = objectOf(choice, "delta");
    text += stringMember(delta, "content") ?? "";
    for (const piece of objectsOf(delta, "tool_calls")) {
      const called = objectOf(piece, "function");
      const call = calls[indexOf(piece, "index")] ??= start(piece, called);
      call.json += stringMember(called, "arguments") ?? "";
    }
  }
  return { calls: calls.map(parse), text };
}

/** Reads messages as strictly as their documentation: one block after the other. */
function readMessages(stream: string) {
  const calls: Written[] = [];
  let [text, open, count] = ["", "", 0];
  for (const event of dataOf(stream)) {
    const { type } = event;
    if (type === "content_block_start") {
      assert.equal(open, "");
      assert.equal(event["index"], count++);
      const block = objectOf(event, "content_block");
      open = stringMember(block, "type") ?? "";
      if (open === "tool_use") calls.push(start(block, block));
    } else if (type === "content_block_delta") {
      assert.equal(event["index"], count - 1);
      const delta = objectOf(event, "delta");
      const isText = open === "text";
      assert.equal(delta["type"], isText ? "text_delta" : "input_json_delta");
      text += stringMember(delta, "text") ?? "";
      const call = calls.at(-1);
      if (call) call.json += stringMember(delta, "partial_json") ?? "";
    } else if (type === "content_block_stop") open = "";
  }
  return { calls: calls.map(parse), text };
}

interface Written {
  readonly id: string;
  readonly name: string;
  json: string;
}

function start(call: JsonObject, called: JsonObject): Written {
  const id = stringMember(call, "id") ?? "";
  return { id, name: stringMember(called, "name") ?? "", json: "" };
}

function parse({ id, name, json }: Written) {
  return { id, name, input: JSON.parse(json) };
}

const weather = { name: "weather", arguments: '{"city":"Bern"}' };
const time = { name: "time", arguments: '{"zone":"CET"}' };

for (
  const [what, pieces] of [
    ["have index 0 for all calls", [
      { index: 0, id: "a", function: weather },
      { index: 0, id: "b", function: time },
    ]],
    ["have no index", [
      { id: "a", function: { ...weather, arguments: '{"city"' } },
      { function: { arguments: ':"Bern"}' } },
      { id: "b", function: time },
    ]],
    ["repeat the id in each piece", [
      { index: 0, id: "a", function: { ...weather, arguments: "" } },
      { index: 1, id: "b", function: time },
      { index: 0, id: "a", function: { arguments: weather.arguments } },
    ]],
    ["have a new id in each piece", [
      { index: 0, id: "a", function: { name: "weather", arguments: "" } },
      { index: 0, id: "x", function: { arguments: weather.arguments } },
      { index: 1, id: "b", function: time },
    ]],
  ] as const
) {
  Deno.test(`servers may ${what}`, () => {
    const provider = providers.openai;
    assert(provider !== undefined);
    const events = [
      ...provider.first,
      ...pieces.map(chatDelta),
      ...provider.last,
    ];
    const { calls } = readMessages(write("anthropic", "openai", events));
    assert.deepEqual(calls, [
      { id: "a", name: "weather", input: { city: "Bern" } },
      { id: "b", name: "time", input: { zone: "CET" } },
    ]);
  });
}

Deno.test("arguments of a call that has not begun are an error, not those of another", () => {
  const { reader } = begin("anthropic", "openai");
  reader.event(chatDelta({ index: 0, id: "a", function: weather }));

  assert.throws(
    () => reader.event(chatDelta({ index: 1, function: { arguments: "{" } })),
    /unknown call/,
  );
});

Deno.test("what is held of calls at the same time has a limit", () => {
  const { reader } = begin("anthropic", "openai");
  const open = (index: number) =>
    reader.event(
      chatDelta({ index, id: `c${index}`, function: { name: "f" } }),
    );
  open(0);
  open(1);
  const piece = { index: 1, function: { arguments: "x".repeat(100_000) } };

  assert.throws(() => {
    for (let count = 0; count < 11; count++) reader.event(chatDelta(piece));
  }, /too long at the same time/);
});
