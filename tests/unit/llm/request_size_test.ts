import assert from "node:assert/strict";
import { textSizeOf } from "../../../src/llm/request_size.ts";
import { bytesOf } from "./answers.ts";

const image = "iVBORw0KGgo".repeat(10_000);
const text = "The quick brown fox. ".repeat(10_000);

for (
  const [what, part, expected] of [
    ["an image as a data URL", `data:image/png;base64,${image}`, 4000],
    ["an image in Base64", image, 4000],
    ["a text", text, text.length],
    ["a text without blanks", "日本語".repeat(10_000), 90_000],
    ["a small image", image.slice(0, 1000), 1000],
  ] as const
) {
  Deno.test(`a request with ${what} counts as ${expected} bytes and what is around it`, () => {
    const around = { model: "gpt", padding: text };
    const size = textSizeOf(bytesOf(JSON.stringify({ ...around, part })));
    const empty = JSON.stringify({ ...around, part: "" }).length;

    assert.equal(size, empty + expected);
  });
}

Deno.test("media count for each that a request has", () => {
  const body = bytesOf(JSON.stringify([image, image, image]));

  assert.equal(textSizeOf(body), 3 * 4000 + '["","",""]'.length);
});

Deno.test("a body that is not JSON has its size", () => {
  assert.equal(textSizeOf(new Uint8Array(100_000)), 100_000);
  assert.equal(textSizeOf(new Uint8Array()), 0);
});
