import assert from "node:assert/strict";
import { substitute } from "../../../../src/config/yaml/substitute.ts";
import { resolvePlainScalar } from "../../../../src/config/yaml/yaml_text.ts";

const environment = { NAME: "value", EMPTY: "", DOLLAR: "${NAME}" };

for (
  const [text, expected] of [
    ["${NAME}", "value"],
    ["a${NAME}b${NAME}", "avaluebvalue"],
    ["${MISSING:-fallback}", "fallback"],
    ["${MISSING:-}", ""],
    ["${EMPTY}", ""],
    ["${EMPTY:-fallback}", "fallback"],
    ["${NAME:-fallback}", "value"],
    ["$${NAME}", "${NAME}"],
    ["$NAME costs $5", "$NAME costs $5"],
    ["${DOLLAR}", "${NAME}"],
  ] as const
) {
  Deno.test(`substitute turns ${text} into ${expected}`, () => {
    assert.deepEqual(substitute(text, environment).errors, []);
    assert.equal(substitute(text, environment).text, expected);
  });
}

for (
  const text of ["${MISSING}", "${}", "${1A}", "${NAME", "${NAME-x}", "${a b}"]
) {
  Deno.test(`substitute rejects ${text}`, () => {
    assert.equal(substitute(text, environment).errors.length, 1);
  });
}

for (
  const [text, expected] of [
    ["", null],
    ["~", null],
    ["true", true],
    ["False", false],
    ["80", 80],
    ["-1.5e3", -1500],
    ["1.2.3", "1.2.3"],
    ["yes", "yes"],
    ["a: b", "a: b"],
  ] as const
) {
  Deno.test(`resolvePlainScalar resolves ${JSON.stringify(text)}`, () => {
    assert.equal(resolvePlainScalar(text), expected);
  });
}

Deno.test("substitute suggests no default for a variable that holds a secret", () => {
  const { errors } = substitute("${OPENAI_API_KEY} ${PORT}", {});

  assert.deepEqual(errors, [
    'environment variable "OPENAI_API_KEY" is not set; set it',
    'environment variable "PORT" is not set; set it or provide a default as in "${PORT:-default}"',
  ]);
});
