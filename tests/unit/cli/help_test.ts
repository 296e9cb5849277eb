import assert from "node:assert/strict";
import { examplesOf } from "../../../cli/commands/help.ts";

Deno.test("explain lists its examples with the indentation of other commands", () => {
  const lines = examplesOf("explain", "gwctl").split("\n");
  const examples = lines.slice(lines.indexOf("Examples:") + 1);

  assert.equal(examples.length, 3);
  for (const line of examples) assert.match(line, /^ {2}\S/);
});
