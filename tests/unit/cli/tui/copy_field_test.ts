import assert from "node:assert/strict";
import { fieldAt } from "../../../../cli/tui/copy_field.ts";
import { clipboardSequence } from "../../../../cli/tui/effects.ts";
import { timingBar } from "../../../../cli/tui/timing_bar.ts";

const yaml = `request:
  uri: http://api.example.com/mcp
  quoted: "a\\tb"
  single: 'it''s'
  port: 80
  "x:y": colon
  list:
    - one
    - two
  text: |-
    first
    second
last: null`.split("\n");

const json = JSON.stringify(
  { a: "x, y", n: 1, on: true, headers: { b: "c" }, list: [1] },
  null,
  2,
).split("\n");

for (
  const { lines, at, field } of [
    { lines: yaml, at: "  uri", field: "http://api.example.com/mcp" },
    { lines: yaml, at: "  quoted", field: "a\tb" },
    { lines: yaml, at: "  single", field: "it's" },
    { lines: yaml, at: "  port", field: "80" },
    { lines: yaml, at: '  "x:y"', field: "colon" },
    { lines: yaml, at: "  list", field: "- one\n- two" },
    { lines: yaml, at: "    - two", field: "two" },
    { lines: yaml, at: "  text", field: "first\nsecond" },
    { lines: yaml, at: "last", field: "null" },
    { lines: json, at: '  "a"', field: "x, y" },
    { lines: json, at: '  "n"', field: "1" },
    { lines: json, at: '  "on"', field: "true" },
    { lines: json, at: '  "headers"', field: '{\n  "b": "c"\n}' },
    { lines: json, at: '  "list"', field: "[\n  1\n]" },
    {
      lines: ['+ request.headers.x-team: "blue"'],
      at: "+",
      field: "blue",
    },
    { lines: ["a line of a body"], at: "a", field: "a line of a body" },
    { lines: [], at: "nothing", field: "" },
  ]
) {
  Deno.test(`the field of the line ${JSON.stringify(at)} is ${JSON.stringify(field)}`, () => {
    const index = lines.findIndex((line) => line.startsWith(at));

    assert.equal(fieldAt(lines, index), field);
  });
}

Deno.test("a text for the clipboard is encoded, and bounded", () => {
  assert.equal(clipboardSequence("aé"), "\x1b]52;c;YcOp\x07");
  assert.equal(clipboardSequence("a".repeat(60_000)), undefined);
});

for (
  const { start, end, total, bar } of [
    { start: 0, end: 100, total: 100, bar: "━━━━━━━━━━" },
    { start: 50, end: 100, total: 100, bar: "     ━━━━━" },
    { start: 99, end: 99, total: 100, bar: "         ━" },
    { start: null, end: 50, total: 100, bar: "     ·    " },
    { start: null, end: 100, total: 100, bar: "         ·" },
    { start: 0, end: null, total: 100, bar: "          " },
    { start: 0, end: 1, total: 0, bar: "          " },
    { start: 90, end: 300, total: 100, bar: "         ━" },
  ]
) {
  Deno.test(`the bar from ${start} to ${end} of ${total} is "${bar}"`, () => {
    assert.equal(timingBar({ start, end, total }, 10), bar);
  });
}
