import assert from "node:assert/strict";
import { printable } from "../../../../cli/output/printable.ts";
import { fit, widthOf, wrap } from "../../../../cli/output/columns.ts";
import { fc } from "../../../harness/parsers/properties.ts";

const anyText = fc.string({ unit: "binary" });

for (
  const [text, width] of [
    ["abc", 3],
    ["日本", 4],
    ["e\u0301", 1],
    ["🚀", 2],
    ["ｱ", 1],
    ["Ａ", 2],
    ["한글", 4],
  ] as const
) {
  Deno.test(`widthOf ${text} is ${width}`, () => {
    assert.equal(widthOf(text), width);
  });
}

Deno.test("fit returns exactly the requested width for any text", () => {
  fc.assert(fc.property(anyText, fc.nat({ max: 50 }), (text, width) => {
    assert.equal(widthOf(fit(printable(text), width)), width);
  }));
});

Deno.test("fit marks truncated text", () => {
  assert.equal(fit("abcdef", 4), "abc…");
  assert.equal(fit("日本語", 4), "日… ");
  assert.equal(fit("ab", 4), "ab  ");
});

Deno.test("wrap keeps all text and never exceeds the width", () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 2, max: 50 }), (text, width) => {
      const lines = wrap(printable(text), width);

      assert.equal(lines.join(""), printable(text));
      assert(lines.every((line) => widthOf(line) <= width));
    }),
  );
});
