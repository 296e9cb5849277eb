import assert from "node:assert/strict";
import {
  duration,
  parseDuration,
} from "../../../../src/api/schema/duration.ts";
import { validate } from "../../../../src/api/schema/validate.ts";

for (
  const [text, milliseconds] of [
    ["0s", 0],
    ["500ms", 500],
    ["10s", 10_000],
    ["1m30s", 90_000],
    ["1h", 3_600_000],
    ["1h1m1s1ms", 3_661_001],
    ["99999h", 359_996_400_000],
  ] as const
) {
  Deno.test(`parseDuration parses ${text}`, () => {
    assert.equal(parseDuration(text), milliseconds);
  });
}

for (
  const text of [
    "",
    "10",
    "1.5s",
    "-1s",
    "10 s",
    "1d",
    "100000s",
    "1s1s1s1s1s",
    "s",
  ]
) {
  Deno.test(`duration rejects ${JSON.stringify(text)}`, () => {
    assert.equal(validate(duration, text).ok, false);
    assert.throws(() => parseDuration(text), TypeError);
  });
}
