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
  const reasons: readonly FinishedRequest["reason"][] = [
    "jwt_auth",
    "basic_auth",
    "api_key_auth",
    "mcp_oauth",
    "authorization",
    "rate_limit",
    "listener_not_found",
    "route_not_found",
    "invalid_backend",
    "invalid_policy",
    "upstream",
    "direct_response",
    "upstream_connect_failed",
    "upstream_timeout",
    "client_closed",
    "internal",
  ];
  for (const reason of reasons) {
    const request = failed("a", { reason, error: "It broke" });
    const { cause, advice } = explainFailure(request);

    assert.match(cause, /^[A-Z].*\.$/, reason);
    assert.doesNotMatch(cause, /undefined/, reason);
    assert.match(advice, /^[A-Z].*[.]$/, reason);
    assert.equal(
      failureEvents(request).at(-1)?.message.type,
      "requestFinished",
    );
  }
});
