import assert from "node:assert/strict";
import { builtInPolicies } from "../../../../src/policy/registry.ts";
import { explainFailure } from "../../../../src/telemetry/failures/explain_failure.ts";
import { failureEvents } from "../../../../src/telemetry/failures/failure_events.ts";
import type { FinishedRequest } from "../../../../src/telemetry/log/finished_request.ts";
import { failedRequest } from "../failed_request.ts";

const { rejections } = builtInPolicies;

Deno.test("explainFailure has a cause of one sentence and an advice of its own for every reason", () => {
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
    unsupported_media_type: true,
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
    list_unreadable: true,
    llm_path_unknown: true,
    llm_request_invalid: true,
    llm_key_rejected: true,
    llm_response_invalid: true,
    llm_provider_limit: true,
    upstream_connect_failed: true,
    upstream_tls_failed: true,
    upstream_overloaded: true,
    mcp_session_lost: true,
    no_endpoints: true,
    upstream_closed: true,
    upstream_protocol_error: true,
    upstream_timeout: true,
    route_timeout: true,
    version_not_supported: true,
    drain_timeout: true,
    tunnel_idle: true,
    internal: true,
  };
  const advices = new Set<string>();
  for (const reason of Object.keys(reasons) as (keyof typeof reasons)[]) {
    const request = failedRequest("a", { reason, error: "It broke" });
    const { cause, advice } = explainFailure(request, rejections);

    assert.match(cause, /^[A-Z].*\.$/, reason);
    assert.doesNotMatch(cause, /undefined/, reason);
    assert.match(advice, /^[A-Z].*[.]$/, reason);
    assert.equal(advices.has(advice), false, reason);
    advices.add(advice);
    assert.equal(
      failureEvents(request, rejections).at(-1)?.message.type,
      "requestFinished",
    );
  }
});

Deno.test("explainFailure reports when a used-up limit resets, and does not call one used up that nobody can ask", () => {
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
    ...failedRequest("a", { ...fields, status: 429 }),
    verdict: {
      type: "rateLimit",
      kind: "local",
      entries: [entry],
      result: "deny",
    },
  }, rejections);
  const unknown = explainFailure(
    failedRequest("a", { ...fields, status: 503 }),
    rejections,
  );

  assert.equal(used.cause, "A rate limit rejected the request: It broke.");
  assert.match(used.advice, /^Wait until 2026-01-01T01:00:00\.000Z, /);
  assert.equal(
    unknown.cause,
    "A rate limit could not be evaluated: It broke.",
  );
  assert.match(unknown.advice, /failureMode/);
});

Deno.test("explainFailure tells tokens of the wrong audience from an identity provider that is away", () => {
  const adviceFor = (error: string, status: number) =>
    explainFailure(
      failedRequest("a", { reason: "mcp_oauth", error, status }),
      rejections,
    ).advice;

  assert.match(
    adviceFor('token audience is not accepted: has "a", expected "b"', 502),
    /`audiences`.*`mcp\.provider`/,
  );
  assert.match(adviceFor("connection refused", 503), /can reach it/);
});

Deno.test("explainFailure names what failed at each endpoint, and not one problem for all", () => {
  const call = { status: null, startMs: 1, endMs: 2 };
  const request = {
    ...failedRequest("a", {
      reason: "upstream_connect_failed",
      error: "connection refused",
      endpoint: "10.0.0.2:80",
    }),
    calls: [
      { ...call, endpoint: "10.0.0.1:80", error: "not TLS" },
      { ...call, endpoint: "10.0.0.3:80", error: null, status: 503 },
      { ...call, endpoint: "10.0.0.2:80", error: "connection refused" },
    ],
  };
  const { cause } = explainFailure(request, rejections);

  assert.equal(
    cause,
    'The backend "default/tools" at 10.0.0.2:80 failed: connection refused. ' +
      "Before, 10.0.0.1:80 failed: not TLS. Before, 10.0.0.3:80 returned 503.",
  );
});
