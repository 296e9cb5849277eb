import assert from "node:assert/strict";
import * as s from "../../../../src/api/schema/schema.ts";
import { validate } from "../../../../src/api/schema/validate.ts";

Deno.test("validate reports a rule that throws as a problem of the value", () => {
  const schema = s.refine(
    s.string(),
    s.rule(() => {
      throw new TypeError("the rule is broken");
    }, "never said"),
  );

  assert.deepEqual(validate(schema, "text"), {
    ok: false,
    problems: [{
      path: [],
      at: "value",
      message: "cannot be checked: the rule is broken",
    }],
  });
});

Deno.test("validate checks the rules of a mapping with other invalid parts", () => {
  const schema = s.refine(
    s.object({ name: s.text(3), one: s.optional(s.string()) }),
    s.exactlyOne("one"),
  );

  const result = validate(schema, { name: "long" });

  assert.ok(!result.ok);
  assert.deepEqual(result.problems.map(({ message }) => message), [
    "expected at most 3 characters",
    '"one" is required',
  ]);
});
