import assert from "node:assert/strict";
import { FormModel } from "../../../../src/llm/request/form_model.ts";

async function encode(fields: readonly (readonly [string, string | Blob])[]) {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  const response = new Response(form);
  const type = response.headers.get("content-type") ?? "";
  return { type, body: new Uint8Array(await response.arrayBuffer()) };
}

function read(type: string, body: Uint8Array, size: number) {
  const form = FormModel.create(type);
  for (let at = 0; at < body.length; at += size) {
    form?.push(body.subarray(at, at + size));
  }
  return form?.model;
}

const speech = new Blob([new Uint8Array(10_000).fill(0x2d)]);
const trap = new Blob([
  '\r\nContent-Disposition: form-data; name="model"\r\n\r\ncheap\r\n--',
]);

for (
  const [what, fields, model] of [
    [
      "before the file",
      [["model", "whisper-1"], ["file", speech]],
      "whisper-1",
    ],
    ["after the file", [["file", speech], ["model", "whisper-1"]], "whisper-1"],
    ["beside text that looks like it", [
      ["file", trap],
      ["model", "whisper-1"],
    ], "whisper-1"],
    ["nowhere", [["file", trap], ["models", "a"]], undefined],
    ["twice", [["model", "a"], ["file", speech], ["model", "b"]], undefined],
    ["as a long text", [["model", "x".repeat(300)]], undefined],
  ] as const
) {
  Deno.test(`the model of a form is found ${what}, in any pieces`, async () => {
    const { type, body } = await encode(fields);
    for (const size of [1, 7, 64, 4096, body.length]) {
      assert.equal(read(type, body, size), model);
    }
  });
}

Deno.test("a body of another type has no model", () => {
  assert.equal(FormModel.create("application/json"), undefined);
  assert.equal(FormModel.create(undefined), undefined);
  assert.equal(FormModel.create("multipart/form-data"), undefined);
});

Deno.test("a part without an end takes no memory and no time", () => {
  const form = FormModel.create("multipart/form-data; boundary=b");
  form?.push(new TextEncoder().encode("--b\r\n"));
  const part = new Uint8Array(1 << 20).fill(0x61);
  for (let i = 0; i < 64; i++) form?.push(part);
  assert.equal(form?.model, undefined);
});
