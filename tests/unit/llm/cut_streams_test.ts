/** Estimates of streams that end early, compared with what was generated until then. */
import assert from "node:assert/strict";
import type { LlmApi } from "../../../src/llm/llm_api.ts";
import {
  bytesOf,
  events,
  namedEvents,
  scannerFor,
  sse,
} from "./llm_responses.ts";

interface CutStream {
  readonly name: string;
  readonly api: LlmApi;
  /** Sent before the generated content. */
  readonly start?: string;
  /** Events, and the tokens that each of them generates. */
  readonly events: readonly (readonly [event: string, tokens: number])[];
}

const prose = [
  ["The", 1],
  [" gateway", 1],
  [" counts", 1],
  [" the", 1],
  [" tokens", 1],
  [" of", 1],
  [" every", 1],
  [" response", 1],
  [",", 1],
  [" streamed", 1],
  [" or", 1],
  [" not", 1],
  [".", 1],
] as const;
const code = [..."if(x==1){y[i]+=2;}"].map((text) => [text, 1] as const);
const chinese = [..."网关计算每个响应的令牌数量"].map((text) =>
  [text, 1] as const
);
/** Providers that send several tokens at a time; the counts are those of their tokenizers. */
const paragraphs = [
  ["A budget of tokens is charged when the response has ended. ", 12],
  ["Requests pass while something is left of the budget, and the last", 13],
  [" one completes even if it uses more than that.", 10],
] as const;
const codeLines = [
  ["for (let i = 0; i < items.length; i++) {\\n", 15],
  ["  total += items[i].price * items[i].count;\\n}\\n", 15],
] as const;

type Pieces = readonly (readonly [text: string, tokens: number])[];

function repeat<T>(items: readonly T[]): T[] {
  return Array.from({ length: 60 }, () => items).flat();
}

function chat(pieces: Pieces) {
  return repeat(pieces).map(([content, tokens]) =>
    [
      events({
        id: "chatcmpl-1",
        object: "chat.completion.chunk",
        model: "gpt-4.1-nano",
        choices: [{ index: 0, delta: { content }, finish_reason: null }],
        usage: null,
      }),
      tokens,
    ] as const
  );
}

function responses(pieces: Pieces) {
  return repeat(pieces).map(([delta, tokens]) =>
    [
      namedEvents({
        type: "response.output_text.delta",
        ...{ item_id: "msg_1", output_index: 0, content_index: 0, delta },
      }),
      tokens,
    ] as const
  );
}

function messages(pieces: Pieces, type: string, name: string) {
  return repeat(pieces).map(([text, tokens]) =>
    [
      namedEvents({
        type: "content_block_delta",
        ...{ index: 0, delta: { type, [name]: text } },
      }),
      tokens,
    ] as const
  );
}

/** Responses of OpenAI begin with the whole configuration of the request, and its tools. */
const instructions = "Answer in one sentence, and cite your sources. ".repeat(
  400,
);
const created = namedEvents(
  { type: "response.created", ...{ response: { instructions, usage: null } } },
  {
    type: "response.in_progress",
    ...{ response: { instructions, usage: null } },
  },
);

const streams: readonly CutStream[] = [
  { name: "prose, token by token", api: "chat", events: chat(prose) },
  { name: "code, token by token", api: "chat", events: chat(code) },
  { name: "Chinese, token by token", api: "chat", events: chat(chinese) },
  { name: "prose in pieces", api: "chat", events: chat(paragraphs) },
  { name: "code in pieces", api: "chat", events: chat(codeLines) },
  {
    name: "a response with long instructions",
    api: "responses",
    start: created,
    events: responses(prose),
  },
  {
    name: "a response of code with long instructions",
    api: "responses",
    start: created,
    events: responses(code),
  },
  {
    name: "a message",
    api: "messages",
    events: messages(paragraphs, "text_delta", "text"),
  },
  {
    name: "thinking that is shown",
    api: "messages",
    events: messages(paragraphs, "thinking_delta", "thinking"),
  },
  {
    name: "arguments of a tool",
    api: "messages",
    events: messages(codeLines, "input_json_delta", "partial_json"),
  },
];

/** Of fewer tokens, a single one is a large part. */
const MIN_TOKENS = 10;

for (const { name, api, start = "", events } of streams) {
  Deno.test(`a stream that ends after any event is estimated at 0.9 to 2 times the truth: ${name}`, () => {
    const scanner = scannerFor(sse, api);
    scanner.push(bytesOf(start));
    let truth = 0;
    let [least, most] = [Infinity, 0];
    for (const [event, tokens] of events) {
      scanner.push(bytesOf(event));
      truth += tokens;
      if (truth < MIN_TOKENS) continue;
      const ratio = scanner.estimate(0).outputTokens / truth;
      least = Math.min(least, ratio);
      most = Math.max(most, ratio);
    }
    const range = `${least.toFixed(2)} to ${most.toFixed(2)}`;
    assert(least >= 0.9 && most <= 2, range);
  });
}

Deno.test("a call of a tool without arguments is no free output", () => {
  const scanner = scannerFor(sse, "messages");
  scanner.push(bytesOf(namedEvents(
    {
      type: "message_start",
      ...{ message: { usage: { input_tokens: 9, output_tokens: 1 } } },
    },
    {
      type: "content_block_start",
      ...{
        index: 0,
        content_block: { type: "tool_use", id: "t", name: "now" },
      },
    },
  )));

  assert.equal(scanner.estimate(0).outputTokens, 37);
});

function estimateOf(api: LlmApi, stream: string): number {
  const scanner = scannerFor(sse, api);
  scanner.push(bytesOf(stream));
  return scanner.estimate(0).outputTokens;
}

const searched = "what the provider found ".repeat(100);

Deno.test("results of tools that the provider runs are no output", () => {
  const start = (block: unknown) => ({
    type: "content_block_start",
    ...{ index: 0, content_block: block },
  });
  const text = { type: "text_delta", text: "The answer is 42." };
  const message = namedEvents(
    start({
      type: "mcp_tool_result",
      content: [{ type: "text", text: searched }],
    }),
    { type: "content_block_delta", ...{ index: 1, delta: text } },
  );
  assert.equal(estimateOf("messages", message), 6);

  const chunk = (delta: unknown) => ({ choices: [{ index: 0, delta }] });
  const completion = events(
    chunk({ content: "", annotations: [{ content: searched }] }),
    chunk({ executed_tools: [{ output: searched, arguments: searched }] }),
    chunk({ content: "The answer is 42." }),
  );
  assert.equal(estimateOf("chat", completion), 6);
});

Deno.test("text that a provider has under two names is counted once", () => {
  const pieces = ["Let", " me", " think"];
  const stream = events(...pieces.map((text) => ({
    choices: [{ delta: { reasoning: text, reasoning_content: text } }],
  })));
  assert.equal(estimateOf("chat", stream), 4);
  const repeated = events(...["ha", "ha", "ha"].map((content) => ({
    choices: [{ delta: { content } }],
  })));
  assert.equal(estimateOf("chat", repeated), 3);
});

Deno.test("calls of tools in responses are counted, in any order of members", () => {
  const item = { type: "function_call", name: "now", arguments: "" };
  const type = "response.output_item.added";
  assert.equal(estimateOf("responses", namedEvents({ type, ...{ item } })), 36);
  const turned = `data: ${JSON.stringify({ item, type })}\n\n`;
  assert.equal(estimateOf("responses", turned), 36);
});

Deno.test("hidden reasoning that clients send back is estimated by its length", () => {
  const type = "response.output_item.done";
  for (
    const [length, tokens] of [[776, 130], [3896, 650], [6284, 1048]] as const
  ) {
    const encrypted = "A".repeat(length);
    const item = {
      type: "reasoning",
      summary: [],
      encrypted_content: encrypted,
    };
    const stream = namedEvents({ type, ...{ item } });
    assert.equal(estimateOf("responses", stream), tokens);
  }
});
