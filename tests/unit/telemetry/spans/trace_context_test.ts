import assert from "node:assert/strict";
import {
  formatParent,
  parseParent,
  randomId,
  randomTraceId,
} from "../../../../src/telemetry/spans/trace_context.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";
const VALID = `00-${TRACE_ID}-${SPAN_ID}-01`;

Deno.test("a traceparent is read and written", () => {
  const parent = parseParent(VALID, "a=1,b=2");

  assert.deepEqual(parent, {
    traceId: TRACE_ID,
    spanId: SPAN_ID,
    isSampled: true,
    state: "a=1,b=2",
  });
  assert.equal(formatParent(parent), VALID);
});

Deno.test("of the flags, only that of sampling counts", () => {
  const flags = (text: string) =>
    parseParent(`00-${TRACE_ID}-${SPAN_ID}-${text}`)?.isSampled;

  assert.equal(flags("00"), false);
  assert.equal(flags("03"), true);
  assert.equal(flags("fe"), false);
});

Deno.test("a later version may have more fields", () => {
  const later = `cc-${TRACE_ID}-${SPAN_ID}-01-what-ever`;

  assert.equal(parseParent(later)?.traceId, TRACE_ID);
});

for (
  const invalid of [
    "",
    `00-${TRACE_ID}-${SPAN_ID}`,
    `00-${TRACE_ID}-${SPAN_ID}-1`,
    `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`,
    `00-${"0".repeat(32)}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${"0".repeat(16)}-01`,
    `ff-${TRACE_ID}-${SPAN_ID}-01`,
    `${VALID}-more`,
    `0x-${TRACE_ID}-${SPAN_ID}-01`,
    ` ${VALID}`,
    `cc-${TRACE_ID}-${SPAN_ID}-01-${"x".repeat(300)}`,
  ]
) {
  Deno.test(`the traceparent "${invalid.slice(0, 70)}" is invalid`, () => {
    assert.equal(parseParent(invalid), undefined);
  });
}

for (
  const [name, state] of [
    ["without a value", "a"],
    ["with a repeated key", "a=1,a=2"],
    ["with a key in capitals", "A=1"],
    ["of more than 512 characters", `a=${"1".repeat(512)}`],
    [
      "of more than 32 members",
      Array.from({ length: 33 }, (_, index) => `a${index}=1`).join(","),
    ],
  ] as const
) {
  Deno.test(`a tracestate ${name} is dropped alone`, () => {
    assert.equal(parseParent(VALID, state)?.state, "");
  });
}

Deno.test("IDs are random, of the right length", () => {
  const ids = new Set(Array.from({ length: 2000 }, randomId));

  assert.equal(ids.size, 2000);
  for (const id of ids) assert.match(id, /^[0-9a-f]{16}$/);
  assert.match(randomTraceId(), /^[0-9a-f]{32}$/);
});
