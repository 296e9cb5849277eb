import assert from "node:assert/strict";
import { decodeBody } from "../../../../src/telemetry/trace/reading/decode_body.ts";
import { diffStates } from "../../../../src/telemetry/trace/reading/diff_states.ts";

Deno.test("diffStates reports changed, added and removed values", () => {
  assert.deepEqual(
    diffStates({ a: { x: 1, y: "s" }, b: ["1"] }, {
      a: { x: 2 },
      b: ["1"],
      c: null,
    }),
    [
      { path: "a.x", before: 1, after: 2 },
      { path: "c", before: undefined, after: null },
      { path: "a.y", before: "s", after: undefined },
    ],
  );
});

Deno.test("bodies are decoded as UTF-8, and others are not text", () => {
  assert.equal(decodeBody("w7zinJM=", Infinity).text, "ü✓");
  assert.equal(decodeBody("/w==", Infinity).text, undefined);
});
