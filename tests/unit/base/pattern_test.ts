import assert from "node:assert/strict";
import { Pattern } from "../../../src/base/pattern.ts";
import { fc } from "../../harness/properties.ts";

for (
  const [source, matching, other] of [
    ["/v[12]/[^/]+", "/v1/models", "/v1/models/x"],
    ["/a|/b", "/b", "/ab"],
    ["/(?<user>\\w+)/x?", "/ann_1/", "/a-b/"],
    ["(?:ab){2,3}", "ababab", "abababab"],
    ["a{2}b{1,}", "aabbb", "ab"],
    ["a+?b*?", "aab", "b"],
    ["(?i:Ab)c", "aBc", "abC"],
    ["(?i:a(?-i:b))", "Ab", "AB"],
    ["^/x$", "/x", "/y"],
    ["\\bfoo\\b.bar", "foo bar", "foo_bar"],
    ["\\p{Lu}\\u{1F600}\\uD83D\\uDE00.", "É😀😀😀", "é😀😀😀"],
    ["[\\]a-c]\\x41\\/", "]A/", "[A/"],
    ["(?:)*", "", "a"],
    ["(?:a*)*b", "aab", "aa"],
  ] as const
) {
  Deno.test(`Pattern ${source} matches whole texts`, () => {
    const pattern = new Pattern(source);

    assert.equal(pattern.test(matching), true);
    assert.equal(pattern.test(other), false);
  });
}

for (
  const [source, message] of [
    [
      "(a)\\1",
      "back references are not supported, they can take exponential time",
    ],
    [
      "(?<n>a)\\k<n>",
      "back references are not supported, they can take exponential time",
    ],
    ["(?=a)b", "looking ahead or behind is not supported"],
    ["(?<!a)b", "looking ahead or behind is not supported"],
    ["(?m:^a)", 'flag "m" is not supported'],
    ["a{5000}", "it is too large once counted repetitions are written out"],
    [
      "(?:(?:){1000}){1000000000}",
      "it is too large once counted repetitions are written out",
    ],
  ] as const
) {
  Deno.test(`Pattern refuses ${source}`, () => {
    assert.throws(() => new Pattern(source), { name: "SyntaxError", message });
  });
}

for (
  const source of [
    "/(a+)+x",
    "/(a|a)*x",
    "/.*a.*a.*a.*a.*x",
    "(?:a?){300}a{300}x",
  ]
) {
  Deno.test(`Pattern ${source} takes no time on a text made for it`, () => {
    const pattern = new Pattern(source);

    assert.equal(pattern.test("/" + "a".repeat(8000)), false);
  });
}

Deno.test("Pattern matches nothing in a text over 8 KiB", () => {
  const pattern = new Pattern("a*");

  assert.equal(pattern.test("a".repeat(8192)), true);
  assert.equal(pattern.test("a".repeat(8193)), false);
});

Deno.test("Pattern agrees with RegExp", () => {
  const { source } = fc.letrec<{ source: string; atom: string }>((tie) => ({
    atom: fc.oneof(
      fc.constantFrom(
        "a",
        "b",
        ".",
        "[ab]",
        "[^a]",
        "\\w",
        "\\b",
        "^",
        "$",
        "😀",
        "-",
      ),
      tie("source").map((inner) => `(?:${inner})`),
      tie("source").map((inner) => `(${inner})`),
    ),
    source: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      tie("atom"),
      fc.tuple(
        tie("source"),
        fc.constantFrom("*", "+", "?", "{2}", "{1,2}", "{1,}", "*?"),
      ).map(([inner, sign]) => `(?:${inner})${sign}`),
      fc.tuple(tie("source"), tie("source")).map(([a, b]) => a + b),
      fc.tuple(tie("source"), tie("source")).map(([a, b]) => `${a}|${b}`),
    ),
  }));
  const text = fc.string({
    unit: fc.constantFrom("a", "b", "-", "😀", "\n"),
    maxLength: 6,
  });

  fc.assert(
    fc.property(source, fc.array(text, { maxLength: 8 }), (source, texts) => {
      const pattern = new Pattern(source);
      const native = new RegExp(`^(?:${source})$`, "u");
      for (const text of texts) {
        assert.equal(pattern.test(text), native.test(text), text);
      }
    }),
    { numRuns: 2000 },
  );
});
