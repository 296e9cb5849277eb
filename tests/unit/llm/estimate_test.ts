import assert from "node:assert/strict";
import {
  awsEventStream,
  awsMessage,
  bytesOf,
  events,
  json,
  namedEvents,
  scannerFor,
  sse,
} from "./llm_responses.ts";

const anthropicStart = {
  type: "message_start",
  message: {
    model: "claude-opus-4",
    usage: { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 1 },
  },
};

Deno.test("estimate uses that of the request and one token per three bytes of generated text when nothing was reported", () => {
  const scanner = scannerFor(sse, "chat");
  scanner.push(bytesOf(events(...Array(10).fill(chatText("12345678")))));

  const usage = scanner.estimate(101);

  assert.equal(usage.inputTokens, 101);
  assert.equal(usage.outputTokens, 27);
  assert.equal(usage.totalTokens, 128);
  assert.equal(usage.estimated, true);
  assert.equal(usage.responseModel, "gpt-4o");
});

Deno.test("estimate counts generated text that looks like an event of OpenAI's responses", () => {
  const text = '"response. "type":"response.created" ';
  const scanner = scannerFor(sse, "chat");
  scanner.push(bytesOf(events(chatText(text))));

  const { outputTokens } = scanner.estimate(0);

  assert(outputTokens >= text.length / 4, `${outputTokens}`);
});

Deno.test("estimate is that of the request before the first byte", () => {
  const usage = scannerFor(json, "chat").estimate(100);

  assert.equal(usage.totalTokens, 100);
  assert.equal(usage.estimated, true);
});

Deno.test("estimate extrapolates from the beginning of a large push", () => {
  const scanner = scannerFor(sse, "chat");
  scanner.push(bytesOf(events(...Array(1000).fill(chatText("12345678")))));

  const { outputTokens } = scanner.estimate(0);

  assert(Math.abs(outputTokens - 2667) < 400, `${outputTokens}`);
});

Deno.test("estimate uses the input that Anthropic reports at the start", () => {
  const scanner = scannerFor(sse, "messages");
  scanner.push(bytesOf(namedEvents(anthropicStart)));
  scanner.push(bytesOf(namedEvents(anthropicText("12345678"))));

  const usage = scanner.estimate(999_999);

  assert.equal(usage.inputTokens, 100);
  assert.equal(usage.outputTokens, 4);
  assert.equal(usage.estimated, true);
});

Deno.test("usage of a truncated Anthropic stream is estimated", () => {
  const scanner = scannerFor(sse, "messages");
  scanner.push(bytesOf(namedEvents(anthropicStart, anthropicText("12345678"))));

  const usage = scanner.finish();

  assert.equal(usage?.inputTokens, 100);
  assert.equal(usage.outputTokens, 4);
  assert.equal(usage.estimated, true);
});

Deno.test("usage of an Anthropic stream truncated before the first text is estimated", () => {
  const scanner = scannerFor(sse, "messages");
  scanner.push(bytesOf(namedEvents(anthropicStart)));

  assert.equal(scanner.finish()?.estimated, true);
});

Deno.test("estimate is exact when the report is complete", () => {
  const scanner = scannerFor(sse, "messages");
  scanner.push(bytesOf(namedEvents(
    anthropicStart,
    anthropicText("12345678"),
    { type: "message_delta", ...{ usage: { output_tokens: 44 } } },
  )));

  const usage = scanner.estimate(999_999);

  assert.equal(usage.totalTokens, 144);
  assert.equal(usage.estimated, false);
});

Deno.test("estimate adds only the text after Gemini's last report", () => {
  const text = (text: string) => ({
    candidates: [{ content: { parts: [{ text }] } }],
  });
  const scanner = scannerFor(sse, "gemini");
  scanner.push(bytesOf(events(
    text("not counted any more"),
    {
      ...text("nor this"),
      usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 5 },
    },
    text("12345678"),
  )));

  const usage = scanner.estimate(999_999);

  assert.equal(usage.inputTokens, 7);
  assert.equal(usage.outputTokens, 8);
  assert.equal(usage.estimated, true);
});

Deno.test("usage of Gemini is kept while events without usage follow", () => {
  const scanner = scannerFor(sse, "gemini");
  const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 5 };
  scanner.push(bytesOf(events({ first: "x".repeat(2000) })));
  scanner.push(bytesOf(events({ usageMetadata })));
  scanner.push(bytesOf(events({ more: "x".repeat(1000) })));

  assert.equal(scanner.finish()?.totalTokens, 12);
});

Deno.test("estimate does not count repeated parts of OpenAI responses", () => {
  const scanner = scannerFor(sse, "responses");
  scanner.push(bytesOf(namedEvents(
    { type: "response.output_text.delta", ...{ delta: "12345678" } },
    { type: "response.output_text.done", ...{ text: "12345678" } },
  )));

  assert.equal(scanner.estimate(0).outputTokens, 3);
});

Deno.test("estimate of a Bedrock stream counts its text", () => {
  const scanner = scannerFor(awsEventStream, "converse");
  scanner.push(
    awsMessage("contentBlockDelta", { delta: { text: "12345678" } }),
  );

  assert.equal(scanner.estimate(10).totalTokens, 13);
});

Deno.test("estimate of JSON uses the bytes of the response", () => {
  const scanner = scannerFor(json, "chat");
  scanner.push(bytesOf(`{"choices":"${"x".repeat(400)}`));

  const { outputTokens } = scanner.estimate(0);

  assert(outputTokens >= 133 && outputTokens <= 140, `${outputTokens}`);
});

Deno.test("estimate of a complete JSON response is its report", () => {
  const scanner = scannerFor(json, "chat");
  scanner.push(
    bytesOf('{"usage":{"prompt_tokens":5,"completion_tokens":6}}\n'),
  );

  const usage = scanner.estimate(999_999);

  assert.equal(usage.totalTokens, 11);
  assert.equal(usage.estimated, false);
});

Deno.test("estimate of embeddings has no output", () => {
  const scanner = scannerFor(json, "embeddings");
  scanner.push(bytesOf(`{"data":[${"0.1,".repeat(1000)}`));

  assert.equal(scanner.estimate(10).totalTokens, 10);
});

function chatText(content: string) {
  return {
    model: "gpt-4o",
    choices: [{ index: 0, delta: { role: "assistant", content } }],
  };
}

function anthropicText(text: string) {
  return { type: "content_block_delta", delta: { type: "text_delta", text } };
}
