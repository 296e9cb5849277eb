import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { InputEstimate } from "../../../../src/llm/request/input_estimate.ts";
import { bytesOf, estimatedInput } from "../llm_responses.ts";

function withImage(width: number, height: number): string {
  const bytes = Buffer.alloc(6000, 0x77);
  bytes.writeUInt32BE(0x89504e47, 0);
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return JSON.stringify({ messages: [], url: bytes.toString("base64") });
}

const empty = JSON.stringify({ messages: [], url: "" });

/** Billed tokens of recorded requests, or by the formula that the provider documents. */
for (
  const [model, width, height, billed] of [
    ["gpt-4o", 3008, 2000, 1105],
    ["gpt-4o", 1024, 1024, 765],
    ["gpt-4.1-nano", 540, 360, 502],
    ["gpt-5-mini", 400, 301, 210],
    ["gpt-5-mini", 597, 566, 554],
    ["claude-sonnet-4-5", 597, 566, 450],
    ["claude-haiku-4-5", 540, 360, 259],
    ["claude-sonnet-4-5", 3000, 3000, 1600],
    ["glm-4.6v", 597, 566, 435],
  ] as const
) {
  Deno.test(`an image of ${width} × ${height} costs about what ${model} bills`, () => {
    const tokens = estimatedInput(withImage(width, height), model) -
      estimatedInput(empty, model);
    assert(tokens >= 0.99 * billed && tokens <= 1.1 * billed, `${tokens}`);
  });
}

for (
  const [what, text, billed, expected] of [
    ["English", "The gateway counts the tokens of every response. ", 9, 1.4],
    ["Chinese", "网关计算每个响应的令牌数量", 10, 1.4],
    ["code", "for (let i = 0; i < items.length; i++) {\n", 15, 0.7],
  ] as const
) {
  Deno.test(`a prompt in ${what} is estimated at ${expected} times the truth`, () => {
    const prompt = text.repeat(200);
    const tokens = estimatedInput(JSON.stringify({ prompt }), "gpt-4o");
    const ratio = tokens / (billed * 200);
    assert.equal(ratio.toFixed(1), String(expected));
  });
}

Deno.test("the model decides what is around the text", () => {
  const request = {
    messages: [{ role: "user", content: "Hi" }],
    tools: [{ name: "now", description: "The time." }],
  };
  const body = JSON.stringify(request);
  const models = ["gpt-4o", "us.anthropic.claude-sonnet-4-5", "gpt-oss-120b"];
  assert.deepEqual(
    models.map((model) => estimatedInput(body, model)),
    [38, 516, 99],
  );
});

Deno.test("a body that cannot be read has a token per four bytes, an empty one none", () => {
  assert.equal(InputEstimate.ofBytes(1021).tokens("gpt"), 256);
  assert.equal(estimatedInput(""), 0);
});

Deno.test("short and long requests are measured alike, any number of times", () => {
  for (const length of [100, 100_000]) {
    const body = bytesOf(JSON.stringify({ prompt: "word ".repeat(length) }));
    const estimate = InputEstimate.ofBody(body);
    assert.equal(estimate.tokens("gpt"), estimate.tokens("gpt"));
    assert(estimate.tokens("gpt") > length);
  }
});
