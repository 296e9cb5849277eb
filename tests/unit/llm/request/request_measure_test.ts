import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { measureRequest } from "../../../../src/llm/request/request_measure.ts";
import { bytesOf } from "../llm_responses.ts";

const nothing = {
  ...{ text: 0, blanks: 0, literals: 0, schema: 0, messages: 0, calls: 0 },
  ...{ hasTools: false, hasReasoning: false, images: [], media: 0 },
};
/** Not an image. */
const page = "JVBERi0xLjQK".repeat(1000);
const text = "The quick brown fox. ".repeat(1000);

function pngOf(width: number, height: number): string {
  const bytes = Buffer.alloc(6000, 0x77);
  bytes.writeUInt32BE(0x89504e47, 0);
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes.toString("base64");
}

for (
  const [what, request, expected] of [
    ["a chat", {
      model: "gpt",
      stream: true,
      max_tokens: 100,
      messages: [{ role: "system", content: "Be brief." }, {
        role: "user",
        content: [{ type: "text", text: "Hi you" }],
      }],
    }, { text: 15, blanks: 2, literals: 2, messages: 2 }],
    ["escapes", { a: 'é\n"' }, { text: 4 }],
    ["definitions of tools", { tools: [{ a: "b" }], prompt: "x" }, {
      ...{ schema: 10, hasTools: true, text: 1 },
    }],
    ["no tools", { tools: [] }, { schema: 1 }],
    ["a schema of the response", { text: { format: { schema: { a: 1 } } } }, {
      schema: 6,
    }],
    ["a call", { messages: [{ role: "tool", tool_use_id: "1" }] }, {
      ...{ messages: 1, calls: 1, text: 1 },
    }],
    ["reasoning", { reasoning: { effort: "low" } }, { hasReasoning: true }],
    ["encrypted reasoning", { encrypted_content: text }, {}],
    ["an image as a data URL", {
      url: `data:image/png;base64,${pngOf(640, 480)}`,
    }, { images: [{ width: 640, height: 480 }] }],
    ["two images", { image: [{ data: pngOf(1, 2) }, { bytes: pngOf(3, 4) }] }, {
      images: [{ width: 1, height: 2 }, { width: 3, height: 4 }],
    }],
    ["a page in Base64", { data: page }, { media: 1 }],
    ["a text that begins like one", { data: page + text }, {
      ...{ text: page.length + text.length, blanks: 4000 },
    }],
    ["a text in place of one", { content: page }, { text: page.length }],
    ["a small one", { data: page.slice(0, 1000) }, { text: 1000 }],
    ["tokens", [1, 2, 34], { literals: 3 }],
  ] as const
) {
  Deno.test(`a request with ${what} is measured`, () => {
    const measure = measureRequest(bytesOf(JSON.stringify(request)));
    assert.deepEqual(measure, { ...nothing, ...expected });
  });
}

Deno.test("a body that is not JSON is text", () => {
  assert.equal(measureRequest(bytesOf("a form")).text, 6);
  assert.equal(measureRequest(new Uint8Array()).text, 0);
});

Deno.test("codes of characters count as the characters in UTF-8", () => {
  assert.equal(measureRequest(bytesOf('{"a":"\\u7f51\\u5173"}')).text, 6);
});

Deno.test("a body that breaks off is measured", () => {
  for (const body of ['{"a":"bc', '{"tools":[{"a', '{"a":"\\']) {
    measureRequest(bytesOf(body));
  }
  assert.equal(measureRequest(bytesOf('{"a":"bc')).text, 2);
});

Deno.test("only so many members are looked up that a request cannot hold others up", () => {
  const body = `{${'"id":"x",'.repeat(30_000)}"id":"yes"}`;
  assert.equal(measureRequest(bytesOf(body)).text, 3);
});
