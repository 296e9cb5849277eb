/**
 * Compares what is charged to a client that leaves a recorded stream after any event, with `onDisconnect: Estimate`, with what the
 * provider bills until then. Most recordings are short: what a provider adds to a request of ten words is most of its input.
 *
 * Providers report only the end. Until an event they have generated the share of the visible output that its bytes have, hidden reasoning
 * before the first output or with the events that carry it encrypted, and have read what tools of their own found when these reported it.
 * `Drain` charges what the provider reports, whenever the client leaves: `tests/e2e/llm/usage/llm_left_streams_test.ts`.
 */
import assert from "node:assert/strict";
import {
  contentTypeOf,
  eventsOf,
  inputOf,
  readStreamShapes,
  type ShapedEvent,
  type StreamShape,
} from "./stream_shapes.ts";
import { scannerFor } from "./llm_responses.ts";

/** The final report has only what is left after the provider shortened the conversation. */
const SHORTENED = /compact/;

const visible = ["text", "arguments", "call"];
const shown = ["reasoning", "summary"];
const encrypted = ["hidden", "redacted"];
/** Bytes of visible text per token, for the part of an output that is hidden. */
const BYTES_PER_TOKEN = 3.6;
/** Of a result of a tool. */
const RESULT_BYTES_PER_TOKEN = 3.5;

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

/** Returns what is charged after each event, and the truth. */
function chargesOf(shape: StreamShape): (readonly [number, number])[] {
  const events = eventsOf(shape);
  const input = inputOf(shape);
  const scanner = scannerFor(contentTypeOf(shape), shape.api);
  return events.flatMap(({ bytes }, index) => {
    scanner.push(bytes);
    const truth = truthOf(shape, events, events.slice(0, index + 1));
    return truth === undefined
      ? []
      : [[scanner.estimate(input).totalTokens, truth] as const];
  });
}

const shapes = (await readStreamShapes())
  .filter(({ name }) => !SHORTENED.test(name));
const charges = shapes.map(chargesOf);

Deno.test("clients that leave recorded streams are charged a third more than the truth in sum", () => {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const [charged, truth] = [0, 1].map((at) =>
    charges.map((each) => mean(each.map((pair) => pair[at] ?? 0)))
      .reduce((sum, value) => sum + value, 0)
  );

  assert.equal(((charged ?? 0) / (truth ?? 0)).toFixed(2), "1.34");
});

Deno.test("clients that leave a recorded stream save at most 8,200 tokens, and a tenth of the truth at 17 % of all events", () => {
  const saved = charges.flat().map(([charged, truth]) => truth - charged);
  const below = charges.flat().filter(([charged, truth]) =>
    charged < 0.9 * truth
  );

  assert(Math.max(...saved) < 8200, `${Math.max(...saved)}`);
  assert.equal(Math.round(100 * below.length / saved.length), 17);
});
