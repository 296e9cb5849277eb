/**
 * Compares what is charged to a client that leaves a recorded stream after any event, with `onDisconnect: Estimate`, with what the
 * provider bills until then.
 *
 * Providers report only the end. Until an event they have generated the share of the visible output that its bytes have, hidden reasoning
 * before the first output or with the events that carry it encrypted, and have read what tools of their own found when these reported it.
 * `Drain` charges what the provider reports, whenever the client leaves: `tests/e2e/llm_left_streams_test.ts`.
 */
import assert from "node:assert/strict";
import {
  contentTypeOf,
  eventsOf,
  inputOf,
  readStreamShapes,
  requestOf,
  type ShapedEvent,
  type StreamShape,
} from "./stream_shapes.ts";
import { scannerFor } from "./llm_responses.ts";
import { measureRequest } from "../../../src/llm/request/request_measure.ts";

const LEAST = 0.9;
const MOST = 2;

/** Recordings with an estimate outside, by the reason: the lowest and the highest ratio. */
const outside: Readonly<
  Record<string, Readonly<Record<string, readonly [number, number]>>>
> = {
  "The provider adds instructions, tools and what searches find to the input, and no event shows it.":
    {
      "openai: openai native tool search": [0.24, 0.3],
      "openai: openai native tool search 2": [0.52, 0.52],
      "amazonaws: bedrock native output": [0.5, 0.55],
      "amazonaws: bedrock model code execution tool": [0.68, 0.69],
      "deepseek: deepseek responses function tool": [0.32, 0.39],
      "deepseek: deepseek responses function tool 2": [0.44, 0.46],
      "deepseek: deepseek responses text": [0.21, 0.39],
      "groq: groq model web search tool": [0.0, 0.41],
      "openai: openai responses code execution return image": [0.61, 0.62],
      "openai: openai responses": [0.27, 0.35],
      "openai: openai responses 2": [0.42, 0.45],
      "openrouter: openrouter advisor tool": [0.1, 0.13],
      "openrouter: openrouter with native options": [0.03, 0.13],
      "openrouter: openrouter web search annotations": [0.04, 0.05],
      "openrouter: openrouter web search tool usage": [0.01, 0.01],
    },
  "The final report has only what is left after the provider shortened the conversation.":
    {
      "anthropic: anthropic compaction usage with cache": [292.1, 304.99],
      "openai: openai responses compact stateful mode 4": [2.54, 2.56],
    },
  "The provider hides the reasoning, and reports none.": {
    "snowflakecomputing: snowflake thinking": [0.7, 1.13],
  },
  "Outside at a few events only, or of so few tokens that one or two are a large part.":
    {
      "openai: openai responses model mcp list tools backfills missing results":
        [1.35, 3.05],
      "anthropic: request fallback for high max tokens": [0.88, 1.05],
      "amazonaws: bedrock model with extra headers": [1.53, 5.5],
      "amazonaws: bedrock model thinking part redacted": [0.84, 1.24],
      "deepseek: deepseek model thinking": [1.48, 2.17],
      "groq: groq model thinking part iter 2": [1.64, 2.02],
      "openai: openai responses moderation": [1.44, 2.08],
      "openai: openai responses thinking part iter": [1.13, 2.15],
      "openrouter: openrouter reasoning": [0.89, 1.2],
    },
};

const visible = ["text", "arguments", "call"];
const shown = ["reasoning", "summary"];
const encrypted = ["hidden", "redacted"];
/** Bytes of visible text per token, for the part of an output that is hidden. */
const BYTES_PER_TOKEN = 3.6;
/** Of a result of a tool. */
const RESULT_BYTES_PER_TOKEN = 3.5;

function round(ratio: number): number {
  return Math.round(ratio * 100) / 100;
}

/** Sums what events have of these kinds. */
function sizeOf(events: readonly ShapedEvent[], kinds: readonly string[]) {
  return events.filter(({ kind }) => kinds.includes(kind))
    .reduce((sum, { size }) => sum + size, 0);
}

/** Returns the part of a whole; 0 of nothing. */
function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

/** Returns what tools of the provider have read, in any unit. */
function toolWork(events: readonly ShapedEvent[], { start, api }: StreamShape) {
  let [conversation, work] = [start?.[0] ?? 0, 0];
  for (const { kind, size } of events) {
    if (kind === "result") {
      conversation += size / RESULT_BYTES_PER_TOKEN;
      work += conversation;
    } else if (api === "responses" && /_call$|_tools$/.test(kind)) work++;
  }
  return work;
}

/** Returns the tokens that the provider bills for the stream up to these events; `undefined` if that is not known. */
function truthOf(
  shape: StreamShape,
  events: readonly ShapedEvent[],
  past: readonly ShapedEvent[],
): number | undefined {
  const { usage, start, api } = shape;
  const output = outputOf(shape, events, past);
  const work = toolWork(events, shape);
  if (work === 0) return usage.input + output;
  const done = toolWork(past, shape) / work;
  // Until a tool has run, its definition may be most of the input.
  if (done === 0 && api !== "messages") return undefined;
  const [before] = start ?? [0];
  return before + (usage.input - before) * done + output;
}

function outputOf(
  { usage: { output, reasoning = 0 } }: StreamShape,
  events: readonly ShapedEvent[],
  past: readonly ShapedEvent[],
): number {
  const [text, thought, cipher] = [visible, shown, encrypted].map((kinds) => ({
    all: sizeOf(events, kinds),
    past: sizeOf(past, kinds),
  }));
  assert(text !== undefined && thought !== undefined && cipher !== undefined);
  if (thought.all > 0) {
    if (reasoning === 0) {
      return output *
        share(text.past + thought.past, text.all + thought.all);
    }
    return reasoning * share(thought.past, thought.all) +
      (output - reasoning) * share(text.past, text.all);
  }
  const unseen = cipher.all > 0
    ? Math.max(reasoning, output - text.all / BYTES_PER_TOKEN)
    : reasoning;
  const begun = cipher.all > 0
    ? share(cipher.past, cipher.all)
    : Number(text.past > 0);
  return unseen * begun + (output - unseen) * share(text.past, text.all);
}

/** Returns the ratio of what is charged to the truth after each event. */
function ratiosOf(shape: StreamShape): number[] {
  const events = eventsOf(shape);
  const input = inputOf(shape);
  const scanner = scannerFor(contentTypeOf(shape), shape.api);
  return events.flatMap(({ bytes }, index) => {
    scanner.push(bytes);
    const truth = truthOf(shape, events, events.slice(0, index + 1));
    return truth === undefined
      ? []
      : [scanner.estimate(input).totalTokens / truth];
  });
}

const shapes = await readStreamShapes();
const exceptions = new Map(
  Object.values(outside).flatMap((ranges) => Object.entries(ranges)),
);
function isInside(ratio: number): boolean {
  return ratio >= LEAST && ratio <= MOST;
}

for (const shape of shapes) {
  const range = exceptions.get(shape.name);
  const title = range === undefined
    ? `${LEAST} to ${MOST} times the truth`
    : `${range.join(" to ")} times the truth, no further from it`;
  Deno.test(`leaving the stream ${shape.name} after any event costs ${title}`, () => {
    const ratios = ratiosOf(shape);
    const found = [Math.min(...ratios), Math.max(...ratios)].map(round);

    if (range !== undefined) assert.deepEqual(found, range);
    else assert(ratios.every(isInside), found.join(" to "));
  });
}

Deno.test("an estimate is 0.9 to 2 times the truth at 94 % of all events, and at all events of 72 % of the streams", () => {
  const ratios = shapes.map(ratiosOf);
  const percent = (some: readonly unknown[], all: readonly unknown[]) =>
    Math.round(100 * some.length / all.length);

  assert.equal(percent(ratios.flat().filter(isInside), ratios.flat()), 94);
  assert.equal(
    percent(ratios.filter((each) => each.every(isInside)), ratios),
    72,
  );
});

Deno.test("a request with the measures of a recorded one has them", () => {
  for (const shape of shapes) {
    const { text, blanks, schema, messages, calls, literals, ...flags } =
      shape.request;
    const measure = measureRequest(requestOf(shape));

    assert.deepEqual(measure, {
      ...{ text, blanks, schema, messages, calls, literals },
      ...{ hasTools: flags.tools, hasReasoning: flags.reasoning },
      ...{ images: [], media: 0 },
    });
  }
});

Deno.test("recordings that are outside are known", () => {
  const names = shapes.map(({ name }) => name);
  assert.deepEqual(
    [...exceptions.keys()].filter((name) => !names.includes(name)),
    [],
  );
});
