import assert from "node:assert/strict";
import { decodeResponse } from "../../../../src/ratelimit/service/service_messages.ts";
import { fc } from "../../../harness/parsers/properties.ts";

Deno.test("decodeResponse reads any bytes or throws an error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        assert(decodeResponse(bytes).overallCode >= 0);
      } catch (error) {
        assert(error instanceof Error);
        assert(!(error instanceof assert.AssertionError), error);
      }
    }),
    { numRuns: 2000 },
  );
});

Deno.test("decodeResponse skips unknown fields and fields of another type", () => {
  const answer = decodeResponse(
    Uint8Array.from([
      ...[0x78, 0x05], // field 15, a number
      ...[0x0a, 0x01, 0xff], // field 1 as bytes
      ...[0x10, 0x01], // field 2 as a number
      ...[0x08, 0x01], // overall_code: OK
      ...[0x32, 0x02, 0x0a, 0x00], // dynamic_metadata
    ]),
  );

  assert.equal(answer.overallCode, 1);
  assert.deepEqual(answer.statuses, []);
});

Deno.test("decodeResponse reads no number below zero", () => {
  const minusOne = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];

  const { statuses } = decodeResponse(
    Uint8Array.from([0x12, 0x0b, 0x18, ...minusOne]),
  );

  assert.equal(statuses[0]?.remaining, 0);
});
