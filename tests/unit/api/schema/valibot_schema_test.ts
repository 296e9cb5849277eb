import assert from "node:assert/strict";
import * as v from "../../../../src/api/schema/valibot_schema.ts";

const advice =
  "valibot changed what src/api/schema/valibot_schema.ts depends on: adapt that file, then this test";

function issuesOf(schema: v.GenericSchema, input: unknown): readonly v.Issue[] {
  return v.safeParse(schema, input).issues ?? [];
}

const mapping = v.strictMapping({
  name: v.string(),
  size: v.optional(v.number(), 1),
  inner: v.exactOptional(v.strictMapping({ list: v.array(v.number()) })),
});

Deno.test("strictMapping keeps valid input and fills in defaults, also below", () => {
  const result = v.safeParse(mapping, { name: "a", inner: { list: [1] } });

  assert.deepEqual(
    result.output,
    { name: "a", size: 1, inner: { list: [1] } },
    advice,
  );
  assert.equal(result.success, true, advice);
});

Deno.test("strictMapping reports everything that is wrong at once, each at its path", () => {
  const issues = issuesOf(mapping, {
    size: "large",
    other: 1,
    inner: { list: ["x"], more: 2, toString: 3 },
  });

  const found = issues.map(({ kind, type, path }) =>
    `${kind} ${type} ${path?.map(({ key }) => key).join(".")}`
  );
  assert.deepEqual(found.toSorted(), [
    "schema number inner.list.0",
    "schema number size",
    "schema object name",
    "schema strict_object inner.more",
    "schema strict_object inner.toString",
    "schema strict_object other",
  ], advice);
});

for (const input of [[], null, "text", 1, undefined]) {
  Deno.test(`strictMapping rejects ${JSON.stringify(input)}`, () => {
    const [issue, ...more] = issuesOf(mapping, input);

    assert.ok(issue !== undefined, advice);
    assert.equal(v.expectedTypeOf(issue), "a mapping", advice);
    assert.equal(v.isAboutField(issue), false, advice);
    assert.deepEqual(more, [], advice);
  });
}

Deno.test("strictMapping lists the known fields for an unknown one", () => {
  const [issue] = issuesOf(mapping, { name: "a", nmae: "b" });

  assert.ok(issue !== undefined, advice);
  assert.equal(v.isAboutField(issue), true, advice);
  assert.deepEqual(v.choicesOf(issue), ["name", "size", "inner"], advice);
  assert.equal(issue.input, "nmae", advice);
});

for (
  const [schema, input, choices] of [
    [v.picklist(["HTTP", "HTTPS"]), "FTP", ["HTTP", "HTTPS"]],
    [v.literal("HTTP"), "FTP", ["HTTP"]],
    [
      v.variant("type", [
        v.strictMapping({ type: v.literal("a") }),
        v.strictMapping({ type: v.literal("b") }),
      ]),
      { type: "c" },
      ["a", "b"],
    ],
    [v.string(), 1, []],
  ] as const
) {
  Deno.test(`choicesOf finds ${JSON.stringify(choices)} in an issue of ${schema.type}`, () => {
    const [issue] = issuesOf(schema, input);

    assert.ok(issue !== undefined, advice);
    assert.deepEqual(v.choicesOf(issue), choices, advice);
  });
}

for (
  const [schema, input, own] of [
    [v.string(), 1, false],
    [v.string("expected a name"), 1, true],
    [v.pipe(v.string(), v.minLength(3)), "ab", true],
    [v.picklist(["a"]), "b", false],
  ] as const
) {
  Deno.test(`hasOwnMessage is ${own} for ${input} as ${schema.type}`, () => {
    const [issue] = issuesOf(schema, input);

    assert.ok(issue !== undefined, advice);
    assert.equal(v.hasOwnMessage(issue), own, advice);
  });
}

for (
  const [schema, expected] of [
    [v.string(), "a string"],
    [v.number(), "a number"],
    [v.boolean(), "true or false"],
    [v.array(v.string()), "a list"],
    [v.record(v.string(), v.string()), "a mapping"],
    [v.objectWithRest({}, v.string()), "a mapping"],
  ] as const
) {
  Deno.test(`expectedTypeOf is "${expected}" for the issue of a ${schema.type}`, () => {
    const [issue] = issuesOf(schema, null);

    assert.ok(issue !== undefined, advice);
    assert.equal(v.expectedTypeOf(issue), expected, advice);
  });
}
