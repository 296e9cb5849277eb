import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { estimateUnread } from "../../../../src/llm/request/input_estimate.ts";
import { estimatedInput } from "../llm_responses.ts";

for (
  const [what, text, billed, expected] of [
    ["English", "The gateway counts the tokens of every response. ", 9, 1.8],
    ["Chinese", "网关计算每个响应的令牌数量", 10, 1.3],
    ["code", "for (let i = 0; i < items.length; i++) {\n", 15, 0.9],
  ] as const
) {
  Deno.test(`a prompt in ${what} is estimated at ${expected} times the truth`, () => {
    const prompt = text.repeat(200);
    const ratio = estimatedInput(JSON.stringify({ prompt })) / (billed * 200);
    assert.equal(ratio.toFixed(1), String(expected));
  });
}

/** Base64 of 30 kB. */
const medium = Buffer.alloc(30_000, 0x77).toString("base64");

for (
  const [what, request] of [
    ["an image as a data URL", { url: `data:image/png;base64,${medium}` }],
    ["a page", { file: { "file_data": medium } }],
    ["an image of Bedrock", { image: { source: { bytes: medium } } }],
  ] as const
) {
  Deno.test(`${what} counts as 1,600 tokens`, () => {
    const tokens = estimatedInput(JSON.stringify(request));
    assert(tokens >= 1600 && tokens < 1640, `${tokens}`);
    const two = estimatedInput(JSON.stringify([request, request], null, 2));
    assert(two >= 3200 && two < 3300, `${two}`);
  });
}

for (
  const [what, request] of [
    ["text in place of a medium", { content: medium }],
    ["text that quotes one", { content: `{"data":"${medium}"}` }],
    ["text in a member for media", { data: "word ".repeat(8000) }],
    ["a short one", Array(20).fill({ data: medium.slice(0, 2000) })],
  ] as const
) {
  Deno.test(`${what} counts as text`, () => {
    const body = JSON.stringify(request);
    assert.equal(estimatedInput(body), Math.ceil(body.length / 3));
  });
}

Deno.test("a body that cannot be read has a token per three bytes, an empty one none", () => {
  assert.equal(estimateUnread(1021), 341);
  assert.equal(estimatedInput(""), 0);
});

Deno.test("a body that breaks off is estimated", () => {
  assert.equal(estimatedInput('{"a":"bc'), 3);
  const body = `{"data":"${medium}`;
  assert.equal(estimatedInput(body), Math.ceil(body.length / 3));
});
