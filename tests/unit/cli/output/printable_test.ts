import assert from "node:assert/strict";
import { printable, printableJson } from "../../../../cli/output/printable.ts";
import { fc } from "../../../harness/parsers/properties.ts";

const anyText = fc.string({ unit: "binary" });

for (
  const [text, shown] of [
    ["plain é", "plain é"],
    ["\x1b[2J", "␛[2J"],
    ["a\tb\r\n", "a b␍␊"],
    ["\x7f", "␡"],
    ["\u009b2J", "\\u{9b}2J"],
    ["\u202egnp", "\\u{202e}gnp"],
    ["\ud800", "\\u{d800}"],
    ["\u2028", "\\u{2028}"],
  ] as const
) {
  Deno.test(`printable shows ${JSON.stringify(text)} as ${shown}`, () => {
    assert.equal(printable(text), shown);
  });
}

Deno.test("printable removes all control sequences from any text", () => {
  fc.assert(fc.property(anyText, (text) => {
    assert.doesNotMatch(printable(text), /[\p{C}\u2028\u2029]/u);
  }));
});

Deno.test("printableJson keeps the value and escapes all control sequences of any JSON", () => {
  fc.assert(fc.property(fc.jsonValue(), anyText, (value, text) => {
    const json = JSON.stringify({ [text]: value, text }, null, 2);

    const shown = printableJson(json);

    assert.deepEqual(JSON.parse(shown), JSON.parse(json));
    assert.doesNotMatch(shown, /[^\P{C}\n]|[\u2028\u2029]/u);
  }));
});
