import assert from "node:assert/strict";
import { decodeEvent } from "../../../../../cli/ctl/trace/decode_event.ts";
import { readLines } from "../../../../../cli/ctl/trace/lines.ts";
import {
  forwardedTrace,
  refusedTrace,
} from "../../../../harness/telemetry/sample_trace.ts";
import { fc } from "../../../../harness/parsers/properties.ts";

Deno.test("decodeEvent decodes every event of a trace", () => {
  for (const event of [...forwardedTrace, ...refusedTrace]) {
    const decoded = decodeEvent(JSON.stringify(event));

    assert.deepEqual(decoded?.json, event);
    assert.deepEqual(decoded?.message, event.message);
  }
});

for (const line of ["", "  ", ": ready", ": keepalive", "data:"]) {
  Deno.test(`decodeEvent returns undefined for ${JSON.stringify(line)}`, () => {
    assert.equal(decodeEvent(line), undefined);
  });
}

for (
  const [line, message] of [
    ["nonsense", /expected JSON/],
    ["[1]", /expected a JSON object/],
    ["{}", /expected microseconds/],
    ['{"eventEnd": "1", "message": {"type": "x"}}', /expected microseconds/],
    ['{"eventEnd": 1}', /expected a "message" with a "type"/],
    ['{"eventEnd": 1, "message": {"type": 7}}', /expected a "message"/],
  ] as const
) {
  Deno.test(`decodeEvent rejects ${line}`, () => {
    assert.throws(() => decodeEvent(line), { name: "SyntaxError", message });
  });
}

for (
  const message of [
    { type: "unheardOf" },
    { type: "toString" },
    { type: "routeSelection", selectedRoute: 1, evaluatedRoutes: [] },
    { type: "authorizationResult", rules: [{}], result: "deny" },
    { type: "requestSnapshot", stage: "x", requestState: { request: {} } },
    { type: "policy", kind: "jwt", result: { type: "reject" } },
  ]
) {
  Deno.test(`decodeEvent returns no message for ${JSON.stringify(message)}`, () => {
    const decoded = decodeEvent(JSON.stringify({ eventEnd: 1, message }));

    assert.equal(decoded?.message, undefined);
    assert.equal(decoded?.type, message.type);
    assert.equal(decoded?.severity, "info");
  });
}

Deno.test("decodeEvent accepts policies and stages of later versions", () => {
  const result = { type: "skip", reason: "no rule" };
  for (
    const message of [
      { type: "policy", kind: "quota", result },
      { type: "policySelection", phase: "mesh", effectivePolicy: {}, more: 1 },
    ]
  ) {
    const decoded = decodeEvent(JSON.stringify({ eventEnd: 1, message }));

    assert.deepEqual(decoded?.message, message);
  }
});

Deno.test("the JSON line of an event has no control characters and the same value", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    const event = { eventEnd: 1, message: { type: "x", text } };

    const line =
      decodeEvent(JSON.stringify(event, null, "\t").replaceAll("\n", ""))
        ?.line ?? "";

    assert.doesNotMatch(line, /\p{Cc}/u);
    assert.deepEqual(JSON.parse(line), event);
  }));
});

Deno.test("the JSON line of an event has no bidirectional or invisible characters, and the same value", () => {
  const details = "\u202eabc\u200b\u{e0041}\u2028é日👍";
  const message = { type: "policyEvent", kind: "jwt", details };
  const event = { eventEnd: 1, message };
  const { line = "" } = decodeEvent(JSON.stringify(event)) ?? {};
  assert.match(line, /"\\u202eabc\\u200b\\udb40\\udc41\\u2028é日👍"/);
  assert.deepEqual(JSON.parse(line), event);
});

Deno.test("readLines yields the same lines wherever the chunks are split", async () => {
  const bytes = new TextEncoder().encode("first\r\nzwei é\n\n日本\nlast");
  for (const size of [1, 2, 3, 7, 100]) {
    const chunks = Array.from(
      { length: Math.ceil(bytes.length / size) },
      (_, index) => bytes.slice(index * size, (index + 1) * size),
    );

    const lines = await Array.fromAsync(readLines(ReadableStream.from(chunks)));

    assert.deepEqual(lines, ["first", "zwei é", "", "日本", "last"]);
  }
});

Deno.test("readLines rejects a line that is too long", async () => {
  const chunk = new Uint8Array(1024 * 1024).fill(97);
  const chunks = ReadableStream.from(Array.from({ length: 17 }, () => chunk));

  await assert.rejects(Array.fromAsync(readLines(chunks)), RangeError);
});
