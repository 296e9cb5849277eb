import assert from "node:assert/strict";
import { formatTime, summarize } from "../../../../../cli/ctl/trace/summary.ts";
import { textLine } from "../../../../../cli/ctl/trace/text.ts";
import type { TraceMessage } from "../../../../../src/telemetry/trace/trace_event.ts";
import { received } from "../../../../harness/clients/received_events.ts";
import {
  requestState,
  traceEvent,
} from "../../../../harness/telemetry/sample_trace.ts";

const budget = {
  name: "10 requests per 1m",
  unit: "requests",
  limit: 10,
  remaining: 4,
  resetSeconds: 12,
  verdict: "allow",
} as const;
const backend = { name: "default/b", type: "static", protocol: "http" };
const response = { code: 404, headers: {} };

const cases: readonly (readonly [message: TraceMessage, text: string])[] = [
  [{ type: "requestStarted" }, "request accepted"],
  [
    {
      type: "requestSnapshot",
      stage: "initial request",
      requestState: requestState(),
    },
    "initial request: POST http://api.example.com/mcp",
  ],
  [
    {
      type: "requestSnapshot",
      stage: "final request",
      requestState: requestState({}, { backend }),
    },
    "final request: POST /mcp to default/b",
  ],
  [
    {
      type: "responseSnapshot",
      stage: "raw response",
      requestState: requestState({}, { response }),
    },
    "raw response: 404",
  ],
  [
    { type: "bodySnapshot", stage: "response", body: btoa("a\nb") },
    "response: 3 bytes a b",
  ],
  [
    {
      type: "bodySnapshot",
      stage: "response",
      body: btoa("ab"),
      truncated: true,
    },
    "response: 2 bytes, truncated ab",
  ],
  [
    {
      type: "policySelection",
      phase: "route",
      effectivePolicy: { cors: null, jwt: {}, rateLimit: {} },
    },
    "route: jwt, rateLimit",
  ],
  [
    { type: "policySelection", phase: "gateway", effectivePolicy: {} },
    "gateway: no policies",
  ],
  [
    {
      type: "routeSelection",
      selectedRoute: "default/mcp/0",
      evaluatedRoutes: ["default/mcp/0", "b", "c", "d"],
    },
    "default/mcp/0 matched of 4",
  ],
  [
    {
      type: "routeSelection",
      selectedRoute: "default/mcp/0",
      evaluatedRoutes: ["default/mcp/0"],
    },
    "default/mcp/0 matched",
  ],
  [
    { type: "routeSelection", selectedRoute: null, evaluatedRoutes: [] },
    "no route matched of 0",
  ],
  [
    {
      type: "policy",
      kind: "jwt",
      result: { type: "reject", status: 401, reason: "token expired" },
    },
    "401 jwt: token expired",
  ],
  [
    {
      type: "policy",
      kind: "cors",
      result: { type: "skip", reason: "no Origin" },
    },
    "cors skipped: no Origin",
  ],
  [
    {
      type: "policy",
      kind: "cors",
      result: { type: "apply", details: "preflight", snapshot: null },
    },
    "cors applied: preflight",
  ],
  [
    {
      type: "policy",
      kind: "jwt",
      result: { type: "apply", details: { issuer: "idp" }, snapshot: null },
    },
    'jwt applied: {"issuer":"idp"}',
  ],
  [
    {
      type: "policy",
      kind: "url_rewrite",
      result: { type: "apply", details: null, snapshot: null },
    },
    "url_rewrite applied",
  ],
  [
    { type: "policyEvent", kind: "retry", details: { attempt: 2 } },
    'retry: {"attempt":2}',
  ],
  [
    {
      type: "cel",
      expr: "jwt.sub",
      requestState: requestState(),
      result: "anna",
    },
    "jwt.sub → anna",
  ],
  [
    {
      type: "authorizationResult",
      rules: [{ name: "a", matched: true, mode: "require" }],
      result: "allow",
    },
    "allowed by 1 rule",
  ],
  [
    {
      type: "authorizationResult",
      rules: [
        { name: "a", matched: true, mode: "require" },
        { name: "b", matched: false, mode: "require", error: "no such key" },
      ],
      result: "deny",
    },
    "denied by b: no such key",
  ],
  [
    {
      type: "authorizationResult",
      rules: [
        { name: "a", matched: false, mode: "deny" },
        { name: "b", matched: true, mode: "deny" },
      ],
      result: "deny",
    },
    "denied by b",
  ],
  [
    { type: "authorizationResult", rules: [], result: "deny" },
    "denied: no rule allows it",
  ],
  [
    {
      type: "rateLimit",
      kind: "local",
      entries: [
        { ...budget, remaining: 8 },
        budget,
        { ...budget, remaining: 0, verdict: "skip" },
      ],
      result: "allow",
    },
    "local: 4 of 10 requests left",
  ],
  [
    {
      type: "rateLimit",
      kind: "global",
      entries: [{ ...budget, remaining: 0, verdict: "deny" }],
      result: "deny",
    },
    "429 global: 10 requests per 1m exceeded, resets in 12 s",
  ],
  [
    {
      type: "rateLimit",
      kind: "local",
      entries: [{
        ...budget,
        name: "5 concurrent requests",
        unit: "concurrentRequests",
        remaining: 0,
        verdict: "deny",
      }],
      result: "deny",
    },
    "429 local: 5 concurrent requests exceeded",
  ],
  [
    {
      type: "rateLimit",
      kind: "global",
      entries: [],
      result: "deny",
      error: "deadline exceeded",
    },
    "global denied without a verdict: deadline exceeded",
  ],
  [{ type: "backendCallStart", target: "127.0.0.1:9" }, "calling 127.0.0.1:9"],
  [
    { type: "backendCallResult", status: null, error: "refused" },
    "failed: refused",
  ],
  [{ type: "backendCallResult", status: 200, error: null }, "returned 200"],
  [
    {
      type: "llmUsage",
      provider: "openai",
      model: "gpt-4o",
      inputTokens: 12,
      outputTokens: 3,
      debit: 15,
    },
    "gpt-4o: 12 in, 3 out, 15 charged",
  ],
  [
    { type: "eventsDropped", count: 7 },
    "7 events dropped: the reader was too slow",
  ],
  [
    { type: "requestFinished", status: 200, error: null, reason: "upstream" },
    "200",
  ],
  [
    {
      type: "requestFinished",
      status: 404,
      error: null,
      reason: "route_not_found",
    },
    "404 route_not_found",
  ],
  [
    { type: "requestFinished", status: null, error: "client left" },
    "no response client left",
  ],
];
for (const [message, text] of cases) {
  Deno.test(`summarize returns "${text}"`, () => {
    const [event] = received([traceEvent(message)]);
    assert(event);

    assert.equal(summarize(event), text);
  });
}

Deno.test("summarize adds the duration of a step and its side call", () => {
  const [event] = received([{
    eventStart: 100,
    eventEnd: 3500,
    severity: "info",
    scope: ["keys of idp"],
    message: { type: "backendCallResult", status: 200, error: null },
  }]);
  assert(event);

  assert.equal(summarize(event), "[keys of idp] returned 200 in 3.40 ms");
});

Deno.test("summarize shows all fields of an unknown event", () => {
  const [event] = received([{ eventEnd: 1, message: { type: "new", a: 1 } }]);
  assert(event);

  assert.equal(summarize(event), '{"type":"new","a":1}');
});

for (
  const [micros, text] of [
    [0, "0 µs"],
    [999, "999 µs"],
    [1000, "1.00 ms"],
    [123_456, "123 ms"],
    [1_234_567, "1.23 s"],
  ] as const
) {
  Deno.test(`formatTime of ${micros} is ${text}`, () => {
    assert.equal(formatTime(micros), text);
  });
}

Deno.test("textLine is one line without control sequences", () => {
  const [event] = received([
    traceEvent({ type: "policyEvent", kind: "jwt", details: "\x1b[2J\na" }, 5),
  ]);
  assert(event);

  assert.equal(
    textLine(event),
    "     5 µs  info    policyEvent         jwt: ␛[2J a",
  );
});

Deno.test("a truncated summary ends with an ellipsis", () => {
  const [event] = received([
    traceEvent({ type: "policyEvent", kind: "jwt", details: "a".repeat(600) }),
  ]);
  assert(event);

  assert.match(summarize(event), /^jwt: a{495}…$/);
});

Deno.test("a summary states the call that a request waited for, its duration and its result", () => {
  const waitedFor = "keys of https://idp.example/";
  const [good, bad] = received([
    {
      ...traceEvent({
        type: "policyEvent",
        kind: "jwt",
        details: { waitedFor },
      }, 1900),
      eventStart: 400,
    },
    traceEvent({
      type: "policyEvent",
      kind: "jwt",
      details: { waitedFor, error: "refused" },
    }),
  ]);
  assert(good && bad);

  assert.equal(summarize(good), `jwt waited for ${waitedFor} in 1.50 ms`);
  assert.equal(summarize(bad), `jwt waited for ${waitedFor}: refused`);
});
