import assert from "node:assert/strict";
import { UsageChunkFilter } from "../../../../src/llm/usage/usage_chunk_filter.ts";
import {
  bytesOf,
  cut,
  events,
  everyByte,
  scan,
  sse,
} from "../llm_responses.ts";
import { processorTime } from "../../../harness/time/processor_time.ts";
import { fc } from "../../../harness/parsers/properties.ts";

const usage = { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 };
const done = "data: [DONE]\n\n";

const content = '{"usage":null} ,"usage":null} "choices":[] "usage":{}';

/** Streams of OpenAI with and without requested usage. */
const requested = stream({ usage: null }) +
  events({ ...chunk(), choices: [], usage }) + done;
const unmodified = stream({}) + done;

Deno.test("UsageChunkFilter restores the stream that a client without requested usage expects", () => {
  assert.equal(filter([bytesOf(requested)]), unmodified);
  assert.equal(scan(sse, [requested])?.totalTokens, 11);
});

Deno.test("UsageChunkFilter does the same for a stream split at any byte", () => {
  const body = bytesOf(requested);
  for (let at = 0; at <= body.length; at++) {
    assert.equal(filter(cut(body, [at])), unmodified, `cut at ${at}`);
  }
  assert.equal(filter(everyByte(body)), unmodified);
});

for (
  const [name, change] of [
    ["CRLF", (text: string) => text.replaceAll("\n", "\r\n")],
    ["CR", (text: string) => text.replaceAll("\n", "\r")],
    [
      "blanks",
      (text: string) =>
        text.replaceAll(/([,:])"/g, '$1 "').replaceAll(":null", ": null"),
    ],
    ["a byte order mark", (text: string) => `\uFEFF${text}`],
  ] as const
) {
  Deno.test(`UsageChunkFilter does the same with ${name} in any chunking`, () => {
    const body = bytesOf(change(requested));
    // The comma is removed with its member, as is whitespace before the key.
    const expected = change(unmodified);
    fc.assert(
      fc.property(
        fc.array(fc.nat(body.length), { maxLength: 30 }),
        (positions) => assert.equal(filter(cut(body, positions)), expected),
      ),
    );
  });
}

Deno.test("UsageChunkFilter takes linear time for an event that contains the key thousands of times", () => {
  const hostile = '"usage'.repeat(40_000);
  const event = events(chunk(hostile), { ...chunk(), choices: [], usage });
  let filtered = "";
  const took = processorTime(() => filtered = filter([bytesOf(event)]));

  assert.equal(filtered, events(chunk(hostile)));
  // Parsing the event for each occurrence takes a minute.
  assert(took < 10_000, `${took} ms`);
});

Deno.test("UsageChunkFilter forwards an event as soon as it is complete", () => {
  const filter = new UsageChunkFilter();
  const event = events({ ...chunk("Hi"), usage: null });

  const held = text(filter.push(bytesOf(event.slice(0, -1))));
  const passed = text(filter.push(bytesOf("\n")));

  assert.equal(held, "");
  assert.equal(passed, events(chunk("Hi")));
});

for (
  const { name, body } of [
    { name: "has no usage", body: events(chunk("Hi")) + done },
    { name: "has usage only in its text", body: events(chunk(content)) },
    {
      name: "has usage beside choices",
      body: events({ ...chunk("Hi"), usage }),
    },
    {
      name: "has no choices and no usage",
      body: events({ choices: [], prompt_filter_results: [] }),
    },
    {
      name: "has null usage of a nested object",
      body: events({ choices: [{ a: 1, usage: null }] }),
    },
    {
      name: "has null usage deep inside",
      body: events({ x: { y: 1, usage: null }, n: 1 }),
    },
    {
      name: "is not JSON",
      body: 'data: {"usage":{ choices\n\ndata: ,"usage":null\n\n',
    },
    { name: "is a comment", body: ": keep alive\n\n" },
    { name: "is not terminated", body: 'data: {"choices":[{}' },
  ]
) {
  Deno.test(`UsageChunkFilter does not change a chunk that ${name}`, () => {
    assert.equal(filter([bytesOf(body)]), body);
    assert.equal(filter(everyByte(bytesOf(body))), body);
  });
}

Deno.test("UsageChunkFilter removes usage in an unterminated last event", () => {
  const body = events({ ...chunk(), choices: [], usage }).trimEnd();

  assert.equal(filter([bytesOf(body)]), "");
});

Deno.test("UsageChunkFilter removes null usage before other flat members", () => {
  const body = events({ ...chunk("Hi"), usage: null, obfuscation: "aB3" });

  assert.equal(
    filter([bytesOf(body)]),
    events({ ...chunk("Hi"), obfuscation: "aB3" }),
  );
});

Deno.test("UsageChunkFilter does not change an event over 1 MiB", () => {
  const body = events(chunk("x".repeat(1_500_000)), chunk("y")) + done;
  const positions = Array.from({ length: 100 }, (_, index) => index * 16_384);

  assert.equal(filter(cut(bytesOf(body), positions)), body);
});

Deno.test("UsageChunkFilter does not buffer an event over 1 MiB until its end", () => {
  const filter = new UsageChunkFilter();
  let passed = 0;
  for (let i = 0; i < 20; i++) {
    passed += filter.push(new Uint8Array(100_000)).length;
  }

  assert.equal(passed, 2_000_000);
});

Deno.test("UsageChunkFilter does not change bytes that are not events", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 8 }),
      (pieces) => {
        const passed = filterBytes(pieces);
        assert.deepEqual(passed, pieces.flatMap((piece) => [...piece]));
      },
    ),
  );
});

function chunk(content?: string) {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    system_fingerprint: null,
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  };
}

function stream(more: Record<string, unknown>): string {
  return events(...["", "Hel", content, "ü"].map((text) => ({
    ...chunk(text),
    ...more,
  })));
}

function filterBytes(pieces: readonly Uint8Array[]): number[] {
  const filter = new UsageChunkFilter();
  const passed = pieces.flatMap((piece) => [...filter.push(piece)]);
  return [...passed, ...filter.finish()];
}

function filter(pieces: readonly Uint8Array[]): string {
  return text(Uint8Array.from(filterBytes(pieces)));
}

function text(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
