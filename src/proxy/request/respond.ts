import {
  ConnectionRequiredError,
  GatewayError,
  type GatewayErrorCode,
  JsonRpcError,
} from "../../base/errors.ts";
import { textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";

/** The response to an error. */
interface ErrorResponse {
  readonly status: number;
  /** Plain text body; details are for log and trace. */
  readonly text: string;
}

/** The only table from error code to status. */
const responses: Readonly<Record<GatewayErrorCode, ErrorResponse>> = {
  bad_request: { status: 400, text: "bad request" },
  head_too_large: { status: 431, text: "request header fields too large" },
  body_too_large: { status: 413, text: "request body too large" },
  body_memory_full: { status: 503, text: "too many request bodies" },
  unsupported_media_type: { status: 415, text: "unsupported media type" },
  request_timeout: { status: 408, text: "request timeout" },
  expectation_failed: { status: 417, text: "expectation failed" },
  method_not_supported: { status: 501, text: "method not supported" },
  version_not_supported: { status: 505, text: "http version not supported" },
  client_closed: { status: 499, text: "client closed request" },
  misdirected_request: { status: 421, text: "misdirected request" },
  listener_not_found: { status: 404, text: "listener not found" },
  route_not_found: { status: 404, text: "route not found" },
  invalid_backend: { status: 500, text: "no valid backend" },
  invalid_policy: { status: 500, text: "invalid policy" },
  transformation_failed: { status: 500, text: "transformation failed" },
  list_unreadable: { status: 502, text: "unreadable list from upstream" },
  usage_unknown: { status: 400, text: "usage cannot be counted" },
  llm_path_unknown: { status: 404, text: "unknown path of an LLM API" },
  llm_request_invalid: { status: 400, text: "bad request to an LLM" },
  llm_key_rejected: { status: 502, text: "provider rejected the gateway" },
  llm_response_invalid: { status: 502, text: "bad response of an LLM" },
  caller_rejected: { status: 403, text: "no access to the upstream" },
  connection_required: { status: 403, text: "connection required" },
  credentials_rejected: { status: 502, text: "no token for the upstream" },
  credentials_unavailable: { status: 503, text: "no token for the upstream" },
  egress_denied: { status: 502, text: "denied upstream" },
  upstream_connect_failed: { status: 503, text: "upstream connect failed" },
  upstream_tls_failed: { status: 503, text: "upstream tls failed" },
  upstream_overloaded: { status: 503, text: "upstream overloaded" },
  mcp_session_lost: { status: 404, text: "session not found" },
  no_endpoints: { status: 503, text: "no endpoints" },
  upstream_closed: { status: 502, text: "upstream closed the connection" },
  upstream_protocol_error: { status: 502, text: "bad upstream response" },
  upstream_timeout: { status: 504, text: "upstream timeout" },
  route_timeout: { status: 504, text: "request timeout" },
  drain_timeout: { status: 503, text: "gateway is shutting down" },
  tunnel_idle: { status: 408, text: "idle tunnel" },
  internal: { status: 500, text: "internal error" },
};

/** Errors that are soon over. */
const overloads: ReadonlySet<GatewayErrorCode> = new Set([
  "upstream_overloaded",
  "body_memory_full",
  "credentials_unavailable",
]);

/** Returns the status of an error. */
export function statusOf(code: GatewayErrorCode): number {
  return responses[code].status;
}

/**
 * Creates the response to a failed request: `text/plain`, a JSON-RPC error, or problem details (RFC 9457) for a user who has to log
 * in, with the code in `x-gateway-error`.
 *
 * It has the kind of failure, never the message, which may contain hosts and paths.
 */
export function respondToError(error: GatewayError): ResponseMessage {
  const { status, text } = responses[error.code];
  const [type, body] = error instanceof JsonRpcError
    ? ["application/json", toJson(error)]
    : error instanceof ConnectionRequiredError
    ? ["application/problem+json", toProblem(error, status)]
    : ["text/plain", text];
  const headers = HeaderList.from([
    ["content-type", type],
    ["x-gateway-error", error.code],
  ]);
  if (overloads.has(error.code)) headers.append("retry-after", "1");
  return { status, headers, body: textBody(body) };
}

function toProblem(
  { code, request, publicMessage, connection }: ConnectionRequiredError,
  status: number,
): string {
  return JSON.stringify({
    title: request,
    status,
    detail: publicMessage,
    error: code,
    error_description: publicMessage,
    url: connection.url,
  });
}

/** JSON-RPC 2.0 section 5; MCP omits the `id` of a request that it could not read. */
function toJson({ rpc: { id, ...error } }: JsonRpcError): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}

/** Converts anything thrown to a `GatewayError`; unexpected errors become `internal`. */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError("internal", "gateway", "Cannot handle the request", {
    cause: error,
  });
}
