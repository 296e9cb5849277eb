import assert from "node:assert/strict";
import { textSizeOf } from "../../../src/llm/request_size.ts";
import { bytesOf } from "./llm_responses.ts";

const image = "iVBORw0KGgo".repeat(10_000);
const text = "The quick brown fox. ".repeat(10_000);

for (
  const [what, part, expected] of [
    ["an image as a data URL", `data:image/png;base64,${image}`, 4000],
    ["an image in Base64", image, 4000],
    ["a text that begins like an image", image.slice(0, 5000) + text, 215_000],
    [
      "a text that begins and ends like one",
      image.slice(0, 999) + text + image.slice(0, 999),
      211_998,
    ],
    ["a text", text, text.length],
    ["a text without blanks", "日本語".repeat(10_000), 90_000],
    ["a small image", image.slice(0, 1000), 1000],
  ] as const
) {
  Deno.test(`a request with ${what} counts as ${expected} bytes and what is around it`, () => {
    const around = { model: "gpt", padding: text };
    const size = textSizeOf(bytesOf(JSON.stringify({ ...around, data: part })));
    const empty = JSON.stringify({ ...around, data: "" }).length;

    assert.equal(size, empty + expected);
  });
}

Deno.test("media count for each that a request has", () => {
  const of = (url: string) => JSON.stringify([{ url }, { url }, { url }]);

  const size = textSizeOf(bytesOf(of(image)));

  assert.equal(size, 3 * 4000 + of("").length);
});

for (
  const [what, request] of [
    ["of a message", { content: image }],
    ["in a list", [image, image]],
    ["that quotes a member", { text: `"data":"${image}"` }],
  ] as const
) {
  Deno.test(`a text ${what} counts in full, also when it could be an image`, () => {
    const body = bytesOf(JSON.stringify(request));

    assert.equal(textSizeOf(body), body.length);
  });
}

Deno.test("a body that is not JSON has its size", () => {
  assert.equal(textSizeOf(new Uint8Array(100_000)), 100_000);
  assert.equal(textSizeOf(new Uint8Array()), 0);
});
