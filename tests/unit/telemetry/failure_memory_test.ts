import assert from "node:assert/strict";
import type { FailedRequest } from "../../../src/telemetry/failed_request.ts";
import { FailureMemory } from "../../../src/telemetry/failure_memory.ts";
import { explainFailure } from "../../../src/telemetry/explain_failure.ts";
import { failureEvents } from "../../../src/telemetry/failure_events.ts";
import type { FinishedRequest } from "../../../src/telemetry/finished_request.ts";
import { finishedRequest } from "./finished_request.ts";

function failed(
  id: string,
  fields: Partial<FinishedRequest> = {},
): FailedRequest {
  return {
    id,
    finished: { ...finishedRequest, status: 503, ...fields },
    scheme: "http",
    query: "",
    requestHeaders: {},
    responseHeaders: {},
    identities: [],
    route: undefined,
    backend: { name: "default/tools", type: "static", protocol: "http" },
    candidates: [],
    verdict: undefined,
    calls: [],
  };
}

Deno.test("FailureMemory lists the newest first and forgets the oldest", () => {
  const memory = new FailureMemory(3);
  const seen: string[][] = [];
  for (const id of ["a", "b", "c", "d", "e"]) {
    memory.remember(failed(id));
    seen.push(memory.list().map(({ id }) => id));
  }

  assert.deepEqual(seen, [
    ["a"],
    ["b", "a"],
    ["c", "b", "a"],
    ["d", "c", "b"],
    ["e", "d", "c"],
  ]);
});

Deno.test("FailureMemory finds the newest of an id that clients used twice", () => {
  const memory = new FailureMemory(3);
  for (const status of [500, 502]) memory.remember(failed("same", { status }));

  assert.equal(memory.find("same")?.finished.status, 502);
  assert.equal(memory.find("other"), undefined);
});

Deno.test("FailureMemory of size 0 remembers nothing", () => {
  const memory = new FailureMemory(0);
  memory.remember(failed("a"));

  assert.equal(memory.isOn, false);
  assert.deepEqual(memory.list(), []);
});

Deno.test("every reason has a cause of one sentence and an advice", () => {
  const reasons: { readonly [reason in FinishedRequest["reason"]]: true } = {
    jwt_auth: true,
    basic_auth: true,
    api_key_auth: true,
    mcp_oauth: true,
    authorization: true,
    rate_limit: true,
    upstream: true,
    direct_response: true,
    bad_request: true,
    head_too_large: true,
    body_too_large: true,
    request_timeout: true,
    expectation_failed: true,
    method_not_supported: true,
    client_closed: true,
    misdirected_request: true,
    listener_not_found: true,
    route_not_found: true,
    invalid_backend: true,
    invalid_policy: true,
    transformation_failed: true,
    upstream_connect_failed: true,
    upstream_tls_failed: true,
    upstream_overloaded: true,
    upstream_closed: true,
    upstream_protocol_error: true,
    upstream_timeout: true,
    route_timeout: true,
    version_not_supported: true,
    drain_timeout: true,
    internal: true,
  };
  const advices = new Set<string>();
  for (const reason of Object.keys(reasons) as (keyof typeof reasons)[]) {
    const request = failed("a", { reason, error: "It broke" });
    const { cause, advice } = explainFailure(request);

    assert.match(cause, /^[A-Z].*\.$/, reason);
    assert.doesNotMatch(cause, /undefined/, reason);
    assert.match(advice, /^[A-Z].*[.]$/, reason);
    assert.equal(advices.has(advice), false, reason);
    advices.add(advice);
    assert.equal(
      failureEvents(request).at(-1)?.message.type,
      "requestFinished",
    );
  }
});

Deno.test("a used-up limit says when it resets, one that nobody can ask does not claim to be used up", () => {
  const time = Date.UTC(2026, 0, 1);
  const fields = { reason: "rate_limit", error: "It broke", time } as const;
  const entry = {
    name: "1 request per hour",
    unit: "requests",
    limit: 1,
    remaining: 0,
    resetSeconds: 3600,
    verdict: "deny",
  } as const;
  const used = explainFailure({
    ...failed("a", { ...fields, status: 429 }),
    verdict: {
      type: "rateLimit",
      kind: "local",
      entries: [entry],
      result: "deny",
    },
  });
  const unknown = explainFailure(failed("a", { ...fields, status: 503 }));

  assert.equal(used.cause, "It was over a limit: It broke.");
  assert.match(used.advice, /^Wait until 2026-01-01T01:00:00\.000Z, /);
  assert.equal(
    unknown.cause,
    "Nobody can say whether it is over a limit: It broke.",
  );
  assert.match(unknown.advice, /failureMode/);
});
