import assert from "node:assert/strict";
import { parsePort, wholeNumber } from "../../../cli/command.ts";

Deno.test("wholeNumber reads the numbers of its range, both ends included", () => {
  const read = wholeNumber(1, 300);

  assert.deepEqual(["1", "42", "300"].map(read), [1, 42, 300]);
});

for (const text of ["0", "301", "-1", "1.5", "1e2", " 1", "", "ten"]) {
  Deno.test(`wholeNumber refuses "${text}" and says what it expects`, () => {
    assert.throws(() => wholeNumber(1, 300)(text), {
      message: "Expected a whole number from 1 to 300.",
    });
  });
}

Deno.test("parsePort refuses what is no port", () => {
  assert.equal(parsePort("65535"), 65_535);
  assert.throws(() => parsePort("65536"), {
    message: "Expected a port from 1 to 65535.",
  });
});
