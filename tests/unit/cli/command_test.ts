import assert from "node:assert/strict";
import { parsePort, wholeNumber } from "../../../cli/commands/command.ts";

Deno.test("wholeNumber parses the numbers of its range, including both bounds", () => {
  const read = wholeNumber(1, 300);

  assert.deepEqual(["1", "42", "300"].map(read), [1, 42, 300]);
});

for (const text of ["0", "301", "-1", "1.5", "1e2", " 1", "", "ten"]) {
  Deno.test(`wholeNumber rejects "${text}" and states the expected range`, () => {
    assert.throws(() => wholeNumber(1, 300)(text), {
      message: "Expected a whole number from 1 to 300.",
    });
  });
}

Deno.test("parsePort rejects invalid ports", () => {
  assert.equal(parsePort("65535"), 65_535);
  assert.throws(() => parsePort("65536"), {
    message: "Expected a port from 1 to 65535.",
  });
});
