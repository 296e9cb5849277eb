import assert from "node:assert/strict";
import { readKeyTable } from "../../../../cli/import/litellm/litellm_keys.ts";

const token = "a".repeat(64);

/** Imports CSV; returns the keys, and the messages about what was left out. */
function imported(text: string) {
  const { objects, notes } = readKeyTable("keys.csv", text);
  const keys = objects.filter(({ kind }) => kind === "key")
    .map(({ fields: { id: _, keyHash: __, ...fields } }) => fields);
  return { keys, notes: notes.map(({ message }) => message) };
}

for (
  const [models, expected] of [
    ["{gpt-4o}", ["gpt-4o"]],
    ['"{claude-v1:0,gpt-4o}"', ["claude-v1:0", "gpt-4o"]],
    ['"{""claude 3"",""a\\""b,c""}"', ["claude 3", 'a"b,c']],
    ['"[""gpt-4o""]"', ["gpt-4o"]],
  ] as const
) {
  Deno.test(`a key of LiteLLM keeps its models ${models}`, () => {
    const { keys, notes } = imported(`token,models\n${token},${models}\n`);
    assert.deepEqual([keys, notes], [[{ allow: { models: expected } }], []]);
  });
}

for (
  const [column, value] of [
    ["models", "gpt-4o"],
    ["expires", '"[1]"'],
    ["rpm_limit", "ten"],
    ["rpm_limit", "0"],
    ["tpm_limit", "0"],
    ["max_budget", "-1"],
    ["tpm_limit", "1e999"],
    ["max_budget", "$5"],
    ["team_id", '"[""blue""]"'],
    ["team_id", "___"],
    ["user_id", "___"],
    ["metadata", "{broken"],
    ["metadata", '"{""model_rpm_limit"":{""gpt-4o"":1}}"'],
  ] as const
) {
  Deno.test(`a key of LiteLLM with ${column} ${value} is left out, not opened`, () => {
    const { keys, notes } = imported(`token,${column}\n${token},${value}\n`);
    assert.deepEqual(keys, []);
    assert.match(notes.join("; "), /left out/);
  });
}

Deno.test("a row of LiteLLM that ends early is left out", () => {
  const { keys, notes } = imported(
    `token,models,blocked\n${token},{a},\n${token},{}`,
  );
  assert.deepEqual([keys, notes], [[{ allow: { models: ["a"] } }], [
    "expected 3 cells; the row is left out",
  ]]);
});

Deno.test("keys of a team of LiteLLM that is left out are left out, too", () => {
  const { keys, notes } = imported(
    `token,team_id,blocked\n${token},7,\n,7,t\n`,
  );
  assert.deepEqual([keys, notes], [[], [
    "blocked: no counterpart; the row is left out",
    "the key is left out, as its owner is",
  ]]);
});

Deno.test("teams of LiteLLM may have digits as names", () => {
  const { keys } = imported(`token,team_id\n${token},007\n`);
  assert.deepEqual(keys, [{ team: "007" }]);
});
