import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { findAnswerEvent } from "../../../../src/mcp/direct/answer_event.ts";
import { outlineAnswer } from "../../../../src/mcp/direct/answer_outline.ts";
import { outlineCall } from "../../../../src/mcp/direct/call_outline.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const call =
  '{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"ab","arguments":{"a":[1,{"b":"\\n"}],"c":null},"_meta":{"x":1}}}';
const answer =
  '{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"x"}]}}';

for (
  const [part, other] of [
    ['"name"', '"name":"b","name"'],
    ['"name"', '"na\\u006de":"b","name"'],
    ['"name"', '"Name":"b","name"'],
    ['"name"', '"name\\u0000":"b","name"'],
    ['"name":"ab"', '"name":"a\\u0062"'],
    ['"jsonrpc"', '"\\u006asonrpc"'],
    ['"tools/call"', '"tools\\/call"'],
    ['"id":12', '"id":null'],
    ['"id":12', '"id":12.0'],
    ['"id":12', '"id":12e0'],
    ['"id":12', '"id":9007199254740993'],
    ['"id":12', '"id":"\\u0061"'],
    ['"id":12', '"id":11,"id":12'],
    ["{", "\ufeff{"],
    ["{", "[{"],
    ["null", "null,"],
    ["null", "tru"],
    ["1,", "01,"],
  ] as const
) {
  Deno.test(`a call with ${JSON.stringify(other)} is parsed, since readers may differ about it`, () => {
    assert.equal(
      outlineCall(encoder.encode(call.replace(part, other))),
      undefined,
    );
  });
}

Deno.test("a call names its tool, also in memory that has held another call", () => {
  const bytes = Buffer.from(call);
  outlineCall(bytes);

  bytes.write(call.replace('"ab"', '"cd"').replace('"x":1', '"x":2'));
  const outline = outlineCall(bytes);

  assert.equal(outline?.name, "cd");
  assert.equal(outline.meta, '{"x":2}');
});

Deno.test("what passes as bytes says the same to a parser, for any change of a call", () => {
  const characters = '{}[]":,\\ue0-1.tfn \n\0\ufeff';
  let state = 7;
  const random = (limit: number) =>
    (state = (state * 1103515245 + 12345) & 0x7fffffff) % limit;
  let passed = 0;
  for (let i = 0; i < 20_000; i++) {
    const at = random(call.length);
    const text = call.slice(0, at) + (characters[random(30)] ?? "") +
      call.slice(at + random(2));
    const outline = outlineCall(encoder.encode(text));
    if (outline === undefined) continue;
    passed++;
    const { id, params } = JSON.parse(text);
    const { bytes, start, end } = outline.args ?? assert.fail();
    const args = JSON.parse(decoder.decode(bytes.subarray(start, end)));
    const meta = JSON.parse(Buffer.from(outline.meta, "latin1").toString());
    assert.deepEqual(
      [outline.id, outline.name, args, meta],
      [id, params.name, params.arguments, params._meta],
      text,
    );
  }
  assert.ok(passed > 1000, String(passed));
});

for (
  const [part, other] of [
    ['"id":5', '"id":6'],
    ['"id":5', '"id":"5"'],
    ['"id":5', '"id":5.0'],
    ['"id":5', '"id":6,"id":5'],
    ['"id":5,', ""],
    ['"type"', '"type":"resource_link","type"'],
    ['"type"', '"typ\\u0065":"resource_link","type"'],
    ['"result"', '"error":{},"result"'],
  ] as const
) {
  Deno.test(`an answer with ${other || "no id"} is parsed`, () => {
    const bytes = encoder.encode(answer.replace(part, other));
    const form = { era: "modern", id: 5, hasOwnUris: true } as const;
    assert.equal(outlineAnswer(bytes, 0, bytes.length, form), undefined);
  });
}

Deno.test("an event is the same however its stream is cut", () => {
  const bytes = encoder.encode(
    `: hi\nevent: message\r\nid: 1\ndata: ${answer}\r\n\r\ndata: more\n\n`,
  );
  const whole = findAnswerEvent(bytes);

  const found = Array.from(
    bytes,
    (_, end) => findAnswerEvent(bytes.subarray(0, end)),
  );

  const first = found.findIndex((event) => event !== "more");
  assert.deepEqual(
    found.slice(first),
    Array(found.length - first).fill(whole),
  );
  assert.equal(typeof whole, "object");
});
