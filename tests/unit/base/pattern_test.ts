import assert from "node:assert/strict";
import {
  loadPatterns,
  MAX_MATCHED_LENGTH,
  Pattern,
  PatternBudget,
} from "../../../src/base/pattern.ts";
import { processorTime } from "../../harness/time/processor_time.ts";
import { fc } from "../../harness/parsers/properties.ts";

await loadPatterns();

for (
  const [source, matching, other] of [
    ["/v[12]/[^/]+", "/v1/models", "/v1/models/x"],
    ["/a|/b", "/b", "/ab"],
    ["(?i)/api/.*", "/API/x", "/APP/x"],
    ["^/api/x$", "/api/x", "/api/y"],
    ["😀+", "😀😀", "😁"],
    ["/(?<user>\\w+)/x?", "/ann_1/", "/a-b/"],
    ["(?:ab){2,3}", "ababab", "abababab"],
    ["a{2}b{1,}", "aabbb", "ab"],
    ["a+?b*?", "aab", "b"],
    ["(?i:Ab)c", "aBc", "abC"],
    ["(?i:a(?-i:b))", "Ab", "AB"],
    ["(?i)v1", "V1", "V2"],
    ["^/x$", "/x", "/y"],
    ["\\bfoo\\b.bar", "foo bar", "foo_bar"],
    ["\\p{Lu}\\x{1F600}.", "É😀😀", "é😀😀"],
    ["[\\]a-c]\\x41\\/", "]A/", "[A/"],
    ["(?:)*", "", "a"],
    ["(?:a*)*b", "aab", "aa"],
    ["a.b", "a-b", "a\nb"],
  ] as const
) {
  Deno.test(`Pattern ${source} matches whole strings`, () => {
    const pattern = new Pattern(source);

    assert.equal(pattern.problem, undefined);
    assert.equal(pattern.test(matching), true);
    assert.equal(pattern.test(other), false);
  });
}

for (
  const [source, problem] of [
    ["[a", 'missing closing ]: "[a"'],
    ["a)|(b", 'unexpected ): "a)|(b"'],
    ["a\\", "trailing backslash at end of expression"],
    ["a**", 'invalid nested repetition operator: "**"'],
    [
      "(a)\\1",
      'invalid escape sequence: "\\\\1"; RE2 has no backreferences',
    ],
    [
      "(?<n>a)\\k<n>",
      'invalid escape sequence: "\\\\k"; RE2 has no backreferences',
    ],
    [
      "(?=a)b",
      'invalid or unsupported Perl syntax: "(?="; RE2 has no lookahead or lookbehind',
    ],
    [
      "(?<!a)b",
      'invalid named capture: "(?<!a)b"; RE2 has no lookahead or lookbehind',
    ],
    [
      "\\u0041",
      'invalid escape sequence: "\\\\u"; RE2 writes code points as \\x{1F600}',
    ],
    [
      "a{5000}",
      'invalid repeat count: "{5000}"; RE2 repeats at most 1000 times, nested repetitions multiplied',
    ],
    [
      "a{700}b{700}c{700}",
      "too large: more than 2000 instructions once repetitions are expanded",
    ],
  ] as const
) {
  Deno.test(`Pattern rejects ${source} and matches nothing`, () => {
    const pattern = new Pattern(source);

    assert.equal(pattern.problem, problem);
    assert.equal(pattern.test(""), false);
    assert.equal(pattern.test(source), false);
  });
}

Deno.test("Pattern rejects any nesting without exhausting the stack", () => {
  const depth = 2000;

  const { problem } = new Pattern("(".repeat(depth) + ")".repeat(depth));

  assert.match(problem ?? "", /nest|large/);
});

for (
  const source of [
    "/(a+)+x",
    "/(a|a)*x",
    "/.*a.*a.*a.*a.*x",
    "(?:a?){300}a{300}x",
    "[ab]*a[ab]{30}c|(?:a?b?){400}x",
  ]
) {
  Deno.test(`Pattern ${source} matches strings chosen by an attacker in linear time`, () => {
    const pattern = new Pattern(source);

    const ms = processorTime(() => {
      for (let seed = 1; seed <= 4; seed++) {
        assert.equal(pattern.test("/" + "a".repeat(8000)), false);
        assert.equal(pattern.test(mixed(8000, seed)), false);
      }
    });

    // Linear matching takes 0.3 s at most; quadratic takes 5 s, exponential does not end.
    assert.ok(ms < 3000, `${ms} ms`);
  });
}

/** A string in which nearly every position needs a state of its own; Park-Miller generator. */
function mixed(length: number, seed: number): string {
  let state = seed;
  let text = "";
  while (text.length < length) {
    state = state * 48271 % 0x7fffffff;
    text += state % 2 === 0 ? "a" : "b";
  }
  return text;
}

Deno.test("Pattern matches nothing in a string over 8 KiB", () => {
  const pattern = new Pattern("a*");

  assert.equal(pattern.test("a".repeat(MAX_MATCHED_LENGTH)), true);
  assert.equal(pattern.test("a".repeat(MAX_MATCHED_LENGTH + 1)), false);
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
      tie("source").map((inner) => `(?i:${inner})`),
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
    unit: fc.constantFrom("a", "b", "A", "-", "😀", "\n"),
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

Deno.test("PatternBudget ends the work of many patterns on a long string", () => {
  const budget = new PatternBudget();
  const patterns = Array.from(
    { length: 2000 },
    (_, index) => new Pattern(`.*/${index}`),
  );
  const text = "/a".repeat(3500);

  assert.throws(
    () => patterns.some((pattern) => pattern.test(text, budget)),
    { code: "head_too_large" },
  );
});

Deno.test("PatternBudget suffices for many patterns on a usual path, and for those that begin otherwise", () => {
  const budget = new PatternBudget();
  const tenants = Array.from(
    { length: 1000 },
    (_, index) => new Pattern(`/tenant/[0-9]+/${index}`),
  );
  const others = Array.from(
    { length: 2000 },
    (_, index) => new Pattern(`/other${index}/.*`),
  );
  const path = "/tenant/17/reports/2026/november?page=17&size=200";

  assert.ok(!tenants.some((pattern) => pattern.test(path, budget)));
  assert.ok(
    !others.some((pattern) => pattern.test("/a".repeat(3500), budget)),
  );
});
