import type { GatewayErrorCode } from "../../base/errors.ts";
import {
  errorOf,
  type Explain,
  type Explanation,
  namedPart,
} from "./explanation.ts";
import type { RecordedRequest } from "./recorded_request.ts";

/** Explains requests that policies rejected, by reason, such as `jwt_auth`. */
export type ExplainRejections = ReadonlyMap<
  string,
  { readonly explain: Explain }
>;

/** Explains why a request failed, and how to fix that. */
export function explainFailure(
  failed: RecordedRequest,
  rejections: ExplainRejections,
): Explanation {
  const { reason } = failed.finished;
  const explain = rejections.get(reason)?.explain ?? explanations.get(reason);
  const explanation = explain?.(failed) ?? {
    cause: `It failed (${reason}): ${errorOf(failed)}.`,
    failing: undefined,
    advice: "See the log of the gateway.",
  };
  const { passedOver = [], chosenBecause } = failed;
  const more = [
    ...(chosenBecause === undefined ? [] : [chosenBecause]),
    ...(passedOver.length === 0 ? [] : [
      `Not tried, because they rest after failures: ${passedOver.join(", ")}`,
    ]),
  ];
  const cause = [explanation.cause, ...more.map((each) => `${each}.`)];
  return { ...explanation, cause: cause.join(" ") };
}

const byReason: Readonly<
  Record<
    GatewayErrorCode | "upstream" | "llm_provider_limit" | "direct_response",
    Explain
  >
> = {
  listener_not_found: ({ finished: { host, port } }) => ({
    cause: `No listener on port ${port} has the host "${host}".`,
    failing: { kind: "header", name: "host" },
    advice:
      "Use a host name that a listener has, or give a listener this `hostname`.",
  }),
  route_not_found: ({ finished: { method, host, path }, candidates }) => ({
    cause: `No route matches ${method} ${path} for the host "${host}"${
      candidates.length === 0
        ? ": there is no route for this host"
        : `; these did not match: ${candidates.join(", ")}`
    }.`,
    failing: undefined,
    advice:
      "Compare host, path, method, headers and model with `hostnames` and `matches` of the routes.",
  }),
  invalid_backend: (failed) => ({
    cause: `The route has no usable backend: ${errorOf(failed)}.`,
    failing: namedPart("route", failed.route),
    advice: "Correct `backends` of the route.",
  }),
  invalid_policy: (failed) => ({
    cause: `A policy of the route cannot be used: ${errorOf(failed)}.`,
    failing: namedPart("route", failed.route),
    advice: "Run `gateway --validate-only -f <file>` and correct the policy.",
  }),
  upstream: (failed) => {
    const { finished: { status }, backend, calls } = failed;
    const answered = calls.at(-1)?.status ?? status;
    return {
      cause: `The backend "${backend?.name}" returned ${answered}; ${
        answered === status
          ? "the gateway forwarded it"
          : `a transformation changed it to ${status}`
      }.`,
      failing: namedPart("backend", backend?.name),
      advice: answered === status
        ? adviceOnResponse(failed)
        : 'See ":status" under `transformation`.',
    };
  },
  llm_provider_limit: (failed) => ({
    cause:
      `The provider of the backend "${failed.backend?.name}" returned 429: its own limit for the gateway's account, not a limit of the gateway.`,
    failing: namedPart("backend", failed.backend?.name),
    advice:
      "Wait as `Retry-After` says, raise the limit at the provider, or limit clients with `rateLimit` before the provider does.",
  }),
  llm_key_rejected: (failed) => ({
    cause: `${errorOf(failed)}.`,
    failing: namedPart("backend", failed.backend?.name),
    advice:
      `Check \`llm.credentials\` of the backend, and what the provider allows this key to do.${
        idAdvice(failed)
      }`,
  }),
  llm_path_unknown: rejected(
    "The gateway forwards inference and lists of models to LLM backends; use a backend with a `host` for other paths.",
  ),
  llm_request_invalid: rejected(
    "Correct the request; the message names the field.",
  ),
  llm_response_invalid: unreachable(
    "The provider responded with something other than its API defines; see its status page.",
  ),
  direct_response: ({ finished: { status }, route }) => ({
    cause: `A policy of the ${
      route === undefined ? "gateway" : "route"
    } returned ${status} itself.`,
    failing: namedPart("route", route),
    advice: "See `directResponse`, `requestRedirect` and `cors` of the route.",
  }),
  caller_rejected: noToken(
    "Callers need a token of `jwtAuthentication` with `iss` and `sub`, and the authorization server has to let them use the backend.",
  ),
  connection_required: (failed) => ({
    cause: `${errorOf(failed)}.`,
    failing: undefined,
    advice:
      "The user opens the link in the response, logs in at the gateway, and connects an account.",
  }),
  credentials_rejected: noToken(
    "Compare client, key, scopes and grants at the authorization server, or role and trust of the identity at the cloud, with `credentials` of the backend.",
  ),
  credentials_unavailable: noToken(
    "Check that the authorization server runs, and that `issuer` or `tokenEndpoint` is its URL. For an identity of a cloud, the error in the log says where the gateway has looked.",
  ),
  egress_denied: unreachable(
    "Backends may not have this address. If it is meant, the operator adds it to `config.egress.allow`.",
  ),
  upstream_connect_failed: unreachable(
    "Check that it runs and listens at this address, and that the name in it is known here.",
  ),
  upstream_tls_failed: unreachable(
    "Compare its certificate with `tls` of the backend: name and trusted certificates. Over plain HTTP, leave `tls` out, or set `plainText: true` of an LLM provider.",
  ),
  upstream_overloaded: unreachable(
    "All its connections are in use; raise `maxConnections` or `maxPendingRequests` of the backend, or add another.",
  ),
  mcp_session_lost: (failed) => ({
    cause: `${errorOf(failed)}.`,
    failing: undefined,
    advice:
      "The client begins a new session, as MCP says. If the endpoints share their sessions, set `loadBalancing.mcpSessions: Shared` of the backend.",
  }),
  no_endpoints: unreachable(
    "None of its pods is ready; see `kubectl get endpointslices` for its service.",
  ),
  upstream_closed: unreachable(
    "It closed the connection before its response was complete; see its log.",
  ),
  upstream_protocol_error: unreachable(
    "It violates HTTP; check port and protocol of the backend.",
  ),
  upstream_timeout: unreachable(
    "It took longer than `timeouts.backendRequest`, which includes the upload of the client: raise it, or speed up backend or client.",
  ),
  route_timeout: unreachable(
    "All attempts took longer than `timeouts.request`, which includes the upload of the client: raise it, or speed up backend or client.",
  ),
  client_closed: ({ finished: { durationMs = 0 } }) => ({
    cause: `The client disconnected after ${Math.round(durationMs)} ms.`,
    failing: undefined,
    advice:
      "Check whether the time-out of the client is shorter than the response takes.",
  }),
  transformation_failed: (failed) => ({
    cause: `A transformation failed: ${errorOf(failed)}.`,
    failing: namedPart("route", failed.route),
    advice: failed.finished.error?.includes("longer than") === true
      ? "Raise `config.limits.maxBufferBytes`, or write a transformation that does not read the body."
      : "Correct the expression under `transformation`, or give it a value for missing data: `has(x) ? x : 'none'`.",
  }),
  list_unreadable: (failed) => ({
    cause: `${errorOf(failed)}.`,
    failing: namedPart("backend", failed.backend?.name),
    advice:
      "Rules of the route filter lists of tools, prompts and resources. Correct what the MCP server sends; if the list is too long, raise `config.limits.maxBufferBytes`.",
  }),
  usage_unknown: rejected(
    "The route has `unknownUsage: Deny`. Use a path and parameters whose tokens can be counted, or allow others with `unknownUsage: Allow`.",
  ),
  body_too_large: rejected(
    "Send less, or raise `config.limits.maxBodyBytes`; for a transformation, `config.limits.maxBufferBytes`, for an LLM, `config.limits.maxLlmBodyBytes`.",
  ),
  body_memory_full: rejected(
    "The bodies that rules, limits and transformations read fill their memory: look for clients that send slowly in `gwctl proxy tasks`, or raise `config.limits.maxBodyMemoryBytes`.",
  ),
  head_too_large: rejected(
    "Send fewer or shorter headers, or raise `config.limits.maxHeaderBytes` or `maxHeaderCount`.",
  ),
  bad_request: rejected(
    "Correct the client: the request is malformed or ambiguous.",
  ),
  unsupported_media_type: rejected(
    "A rule, limit or transformation reads the body: send it as UTF-8, uncompressed, with one well-formed `Content-Type`.",
  ),
  request_timeout: rejected(
    "If the client is just slow, raise `timeouts` of the gateway, or lower `minRequestBodyRate`.",
  ),
  tunnel_idle: rejected(
    "Send pings more often, or raise `timeouts.webSocket` of the gateway.",
  ),
  expectation_failed: rejected("Send no `Expect` but `100-continue`."),
  misdirected_request: rejected(
    "Connect again, with the server name of this host.",
  ),
  method_not_supported: rejected("Use a method that the gateway forwards."),
  version_not_supported: rejected("Use HTTP/1.0, HTTP/1.1 or HTTP/2."),
  drain_timeout: rejected(
    "The gateway stopped. Retry; if responses take longer than that, raise `config.drainTimeout`.",
  ),
  internal: (failed) => ({
    cause: `Internal error of the gateway: ${errorOf(failed)}.`,
    failing: undefined,
    advice: "Please report it, with this text.",
  }),
};

const explanations: ReadonlyMap<string, Explain> = new Map(
  Object.entries(byReason),
);

function adviceOnResponse(
  { id, finished: { upstreamRequestId } }: RecordedRequest,
): string {
  const advice = `See the log of the backend; it got x-request-id "${id}"`;
  return upstreamRequestId === undefined
    ? `${advice}.`
    : `${advice} and uses the ID "${upstreamRequestId}".`;
}

function idAdvice(
  { finished: { upstreamRequestId } }: RecordedRequest,
): string {
  return upstreamRequestId === undefined
    ? ""
    : ` The provider uses the ID "${upstreamRequestId}" for the request.`;
}

function rejected(advice: string): Explain {
  return (failed) => ({
    cause: `The gateway rejected it (${failed.finished.reason}): ${
      errorOf(failed)
    }.`,
    failing: undefined,
    advice,
  });
}

function noToken(advice: string): Explain {
  return (failed) => ({
    cause: `${errorOf(failed)}.`,
    failing: namedPart("backend", failed.backend?.name),
    advice,
  });
}

function unreachable(advice: string): Explain {
  return (failed) => {
    const { backend, calls, finished: { endpoint } } = failed;
    const times = calls.filter((call) => call.endpoint === endpoint).length;
    const cause = `The backend "${backend?.name}" at ${endpoint} ${
      times > 1 ? `failed ${times} times` : "failed"
    }: ${errorOf(failed)}.`;
    return {
      cause: [cause, ...failuresElsewhere(failed)].join(" "),
      failing: namedPart("backend", backend?.name),
      advice,
    };
  };
}

/** Describes the last attempt at each other endpoint: its problem may be another one. */
function failuresElsewhere(
  { calls, finished }: RecordedRequest,
): readonly string[] {
  const last = new Map(calls.map((call) => [call.endpoint, call]));
  last.delete(finished.endpoint);
  return [...last.values()].map(({ endpoint, status, error }) =>
    status === null
      ? `Before, ${endpoint} failed: ${error}.`
      : `Before, ${endpoint} returned ${status}.`
  );
}
