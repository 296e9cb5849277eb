import type {
  TraceEvent,
  TraceMessage,
  TraceSeverity,
} from "../../../src/telemetry/trace/trace_event.ts";
import type { RequestState } from "../../../src/telemetry/trace/trace_state.ts";

/** Creates an event at a time in microseconds. */
export function traceEvent(
  message: TraceMessage,
  at = 0,
  severity: TraceSeverity = "info",
): TraceEvent {
  return { eventStart: null, eventEnd: at, severity, message };
}

/** Returns the state of a request with these headers. */
export function requestState(
  headers: Readonly<Record<string, string>> = {},
  rest: Partial<RequestState> = {},
): RequestState {
  return {
    request: {
      method: "POST",
      uri: "http://api.example.com/mcp",
      path: "/mcp",
      pathAndQuery: "/mcp",
      host: "api.example.com",
      scheme: "http",
      version: "HTTP/1.1",
      headers: { accept: "*/*", authorization: "<redacted>", ...headers },
      startTime: "2026-01-01T00:00:00Z",
    },
    source: {
      address: "127.0.0.1",
      port: 50946,
      rawAddress: "127.0.0.1",
      rawPort: 50946,
    },
    env: {},
    ...rest,
  };
}

/** The trace of a forwarded request. */
export const forwardedTrace: readonly TraceEvent[] = [
  traceEvent({ type: "requestStarted" }),
  traceEvent({
    type: "requestSnapshot",
    stage: "initial request",
    requestState: requestState({ "x-debug": "1" }),
  }, 20),
  traceEvent({
    type: "policySelection",
    phase: "gateway",
    effectivePolicy: { cors: null, jwt: null },
  }, 31),
  traceEvent({
    type: "routeSelection",
    selectedRoute: "default/mcp/0",
    evaluatedRoutes: ["default/mcp/0", "default/llm/0", "default/all/0"],
  }, 45),
  traceEvent(
    {
      type: "policy",
      kind: "jwt",
      result: {
        type: "apply",
        details: { issuer: "https://idp.example.com/" },
        snapshot: null,
      },
    },
    120,
    "success",
  ),
  traceEvent(
    {
      type: "authorizationResult",
      rules: [{ name: "'read' in jwt.scope", matched: true, mode: "require" }],
      result: "allow",
    },
    130,
    "success",
  ),
  traceEvent(
    {
      type: "rateLimit",
      kind: "local",
      entries: [{
        name: "10 requests per 1m",
        unit: "requests",
        limit: 10,
        remaining: 9,
        resetSeconds: 60,
        verdict: "allow",
      }],
      result: "allow",
    },
    140,
    "success",
  ),
  traceEvent({
    type: "requestSnapshot",
    stage: "final request",
    requestState: requestState({ "x-team": "blue" }, {
      backend: {
        name: "default/mcp/backend0",
        type: "static",
        protocol: "http",
      },
    }),
  }, 200),
  traceEvent({ type: "backendCallStart", target: "127.0.0.1:9000" }, 210),
  traceEvent({
    type: "bodySnapshot",
    stage: "final request",
    body: btoa('{"jsonrpc":"2.0","method":"ping","id":7}'),
  }, 260),
  {
    eventStart: 210,
    eventEnd: 3610,
    severity: "info",
    message: { type: "backendCallResult", status: 200, error: null },
  },
  traceEvent({
    type: "responseSnapshot",
    stage: "final response",
    requestState: requestState({ "x-team": "blue" }, {
      backend: {
        name: "default/mcp/backend0",
        type: "static",
        protocol: "http",
      },
      response: { code: 200, headers: { "content-type": "application/json" } },
    }),
  }, 3700),
  traceEvent({
    type: "requestFinished",
    status: 200,
    error: null,
    reason: "upstream",
  }, 3900),
];

/** The trace of a request with a rejected token, at another path. */
export const refusedTrace: readonly TraceEvent[] = [
  traceEvent({ type: "requestStarted" }),
  traceEvent({
    type: "requestSnapshot",
    stage: "initial request",
    requestState: requestState(),
  }, 18),
  traceEvent(
    {
      type: "policy",
      kind: "jwt",
      result: { type: "reject", status: 401, reason: "token expired" },
    },
    90,
    "error",
  ),
  traceEvent(
    {
      type: "requestFinished",
      status: 401,
      error: "jwt: token expired",
    },
    120,
    "warn",
  ),
];

/** Formats events like `--raw`. */
export function toJsonLines(events: readonly TraceEvent[]): string {
  return events.map((event) => JSON.stringify(event) + "\n").join("");
}
