import assert from "node:assert/strict";
import { RealtimeUsage } from "../../../../src/llm/realtime/realtime_usage.ts";
import {
  realtimeResponse,
  realtimeUsage,
} from "../../../harness/llm/realtime_provider.ts";

function send(reader: RealtimeUsage, ...events: readonly unknown[]): void {
  for (const event of events) {
    const bytes = new TextEncoder().encode(
      typeof event === "string" ? event : JSON.stringify(event),
    );
    for (let at = 0; at < bytes.length; at += 100) {
      reader.push(bytes.subarray(at, at + 100));
    }
    reader.end();
  }
}

function countsOf(usage: ReturnType<RealtimeUsage["take"]>) {
  return usage && [
    usage.inputTokens,
    usage.outputTokens,
    usage.cachedInputTokens,
    usage.responseModel,
    usage.estimated,
  ];
}

Deno.test("each response is counted once, for the model of the session", () => {
  const reader = new RealtimeUsage("gpt-realtime");
  send(reader, ...realtimeResponse(realtimeUsage(120, 30)));
  assert.deepEqual(
    countsOf(reader.take()),
    [120, 30, 12, "gpt-realtime", false],
  );
  assert.equal(reader.take(), undefined);

  const session = { model: "gpt-realtime-mini" };
  send(reader, { type: "session.updated", session });
  send(reader, ...realtimeResponse(realtimeUsage(200, 10)));
  assert.deepEqual(
    countsOf(reader.take()),
    [200, 10, 20, "gpt-realtime-mini", false],
  );
  assert.equal(reader.finish(), undefined);
});

Deno.test("responses over a WebSocket are counted, each for its model", () => {
  const reader = new RealtimeUsage(undefined);
  const usage = {
    input_tokens: 50,
    input_tokens_details: { cached_tokens: 40 },
    output_tokens: 7,
    total_tokens: 57,
  };
  send(
    reader,
    { type: "response.created", response: { model: "gpt-5.2" } },
    { type: "response.completed", response: { model: "gpt-5.2", usage } },
  );
  assert.deepEqual(countsOf(reader.take()), [50, 7, 40, "gpt-5.2", false]);
});

Deno.test("a transcription is counted, for its own model", () => {
  const reader = new RealtimeUsage(undefined);
  const transcription = { model: "gpt-4o-transcribe" };
  send(
    reader,
    {
      type: "session.created",
      session: { audio: { input: { transcription } } },
    },
    {
      type: "conversation.item.input_audio_transcription.delta",
      delta: "Hel",
    },
    {
      type: "conversation.item.input_audio_transcription.completed",
      transcript: "Hello",
      usage: {
        type: "tokens",
        total_tokens: 26,
        input_tokens: 17,
        output_tokens: 9,
        input_token_details: { audio_tokens: 17 },
      },
    },
  );
  assert.deepEqual(
    countsOf(reader.take()),
    [17, 9, undefined, "gpt-4o-transcribe", false],
  );
  assert.equal(reader.finish(), undefined);
});

Deno.test("a response that the end of the connection cuts short is estimated by what came, and by the conversation", () => {
  const reader = new RealtimeUsage("m");
  send(reader, ...realtimeResponse(realtimeUsage(100, 20)));
  reader.take();
  const second = speechOf(1);
  send(
    reader,
    { type: "response.created", response: {} },
    { type: "response.output_audio.delta", delta: second },
    { type: "response.output_audio_transcript.delta", delta: "abcdef" },
  );

  assert.equal(reader.isResponding, true);
  // 20 tokens for a second of speech, and two for its text.
  assert.deepEqual(countsOf(reader.finish()), [120, 23, undefined, "m", true]);
  assert.equal(reader.finish(), undefined);
});

Deno.test("the input of a first response that is cut short is estimated by instructions, messages and speech", () => {
  const reader = new RealtimeUsage("gpt-realtime");
  const message = (role: string, text: string) => ({
    type: "conversation.item.added",
    item: { role, content: [{ type: "input_text", text }] },
  });
  const tools = [{ type: "function", name: "lookup", parameters: {} }];
  send(
    reader,
    { type: "session.created", session: { instructions: "a".repeat(99) } },
    {
      type: "session.updated",
      session: { instructions: "a".repeat(300), tools },
    },
    message("user", "b".repeat(150)),
    message("assistant", "no input".repeat(100)),
    { type: "input_audio_buffer.speech_started", audio_start_ms: 1000 },
    { type: "input_audio_buffer.speech_stopped", audio_end_ms: 6000 },
    { type: "response.created", response: {} },
    { type: "response.output_text.delta", delta: "Hello" },
  );

  // 100 for the instructions, about 18 for the tool and 61 for the message with its names, 50 for five seconds.
  assert.deepEqual(
    countsOf(reader.finish()),
    [229, 2, undefined, "gpt-realtime", true],
  );
});

Deno.test("a response that ends without usage is estimated", () => {
  const reader = new RealtimeUsage("m");
  send(reader, ...realtimeResponse(null, ["abcdef", "g"]));
  assert.deepEqual(countsOf(reader.take()), [0, 3, undefined, "m", true]);
});

Deno.test("events with counts that are no usage are ignored", () => {
  const reader = new RealtimeUsage("m");
  const usage = realtimeUsage(1000, 1000);
  send(
    reader,
    { type: "conversation.item.added", usage, item: { usage } },
    { type: "response.output_item.done", response: { usage } },
    { type: "session.updated", session: { usage, model: "" }, usage },
    "no JSON at all",
    '{"type":"response.done","response":{"usage":{"input_tokens":-1}}',
    "[[[[",
    '{"type":{"a":1},"usage":[]}',
    { type: "response.output_text.delta", delta: '","usage":{"a":1},"' },
  );
  assert.equal(reader.take(), undefined);
});

Deno.test("events of any length take no memory", () => {
  const reader = new RealtimeUsage("m");
  reader.push(new TextEncoder().encode('{"type":"response.done","x":"'));
  const part = new Uint8Array(1 << 20).fill(0x61);
  for (let i = 0; i < 64; i++) reader.push(part);
  reader.push(new TextEncoder().encode(
    `","response":{"usage":${JSON.stringify(realtimeUsage(5, 6))}}}`,
  ));
  reader.end();
  assert.deepEqual(countsOf(reader.take()), [5, 6, 0, "m", false]);
});

/** Speech in PCM at 24 kHz. */
function speechOf(seconds: number): string {
  return "A".repeat(64_000 * seconds);
}

Deno.test("a session may be of a version of the model that the path names, and changes its model once it is another one", () => {
  const changed = (...events: readonly (readonly [string, string])[]) => {
    const reader = new RealtimeUsage("gpt-realtime");
    send(
      reader,
      ...events.map(([type, model]) => ({ type, session: { model } })),
    );
    return reader.hasChangedModel;
  };
  const version = "gpt-realtime-2025-08-28";

  assert(!changed(["session.created", version], ["session.updated", version]));
  assert(changed(["session.created", version], ["session.updated", "gpt-5"]));
  // A server that says nothing at the beginning.
  assert(!changed(["session.updated", "gpt-realtime"]));
  assert(changed(["session.updated", "gpt-5"]));
});
