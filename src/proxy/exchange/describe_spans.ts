import { splitHostPort } from "../../base/wire/host_port.ts";
import { hideSignatures } from "../../base/redaction.ts";
import { isKnownMethod } from "../../telemetry/metrics/request_metrics.ts";
import type { FinishedRequest } from "../../telemetry/log/finished_request.ts";
import type { Attributes, Span } from "../../telemetry/spans/span.ts";
import { randomId } from "../../telemetry/spans/trace_context.ts";
import type { Exchange } from "./exchange.ts";
import {
  llmAttributes,
  type LlmOperation,
  llmSpanName,
  rpcAttributes,
} from "./gen_ai_attributes.ts";
import type { AttemptSpan, RequestSpan } from "../trace/spans/request_span.ts";
import { rpcSession, rpcSpanName } from "../trace/spans/rpc_message.ts";

const defaultPorts: Readonly<Record<string, number>> = {
  http: 80,
  https: 443,
};

/** A request that is over, with everything that its spans show. */
export interface TracedRequest {
  readonly exchange: Exchange;
  readonly span: RequestSpan;
  readonly finished: FinishedRequest;
  /** Set for a request to an LLM that got to a backend. */
  readonly operation: LlmOperation | undefined;
  /** Attributes of the configuration, for the span of the request. */
  readonly added: Attributes;
}

/** Yields the spans of a request: its own, one for each attempt at a backend, and one for each policy that had to wait. */
export function* describeSpans(traced: TracedRequest): Iterable<Span> {
  yield serverSpan(traced);
  const { span, exchange } = traced;
  for (const [index, attempt] of span.attempts.entries()) {
    yield attemptSpan(traced, attempt, index);
  }
  for (const { policy, startedAt, endedAt, error } of span.policies) {
    yield {
      ...partsOf(span),
      spanId: randomId(),
      parentSpanId: span.spanId,
      hasRemoteParent: false,
      name: `policy ${policy}`,
      kind: "internal",
      startedAt: timeOf(exchange, startedAt),
      endedAt: timeOf(exchange, endedAt),
      attributes: { "gateway.policy": policy },
      error,
      links: [],
    };
  }
}

function serverSpan(traced: TracedRequest): Span {
  const { exchange, span, finished, operation, added } = traced;
  const { durationMs = 0, status, error, reason } = finished;
  const { parent, link } = span;
  const isFailed = status >= 500 || error !== undefined && status < 400;
  return {
    ...partsOf(span),
    spanId: span.spanId,
    parentSpanId: parent?.spanId,
    hasRemoteParent: parent !== undefined,
    name: serverName(traced),
    kind: "server",
    startedAt: exchange.acceptedAt,
    endedAt: exchange.acceptedAt + durationMs,
    attributes: {
      ...httpAttributes(traced),
      "error.type": isFailed ? errorType(status, reason) : undefined,
      ...semanticAttributes(traced, operation),
      ...gatewayAttributes(finished),
      ...added,
    },
    error: isFailed ? error ?? "" : undefined,
    links: link === undefined ? [] : [link],
  };
}

function attemptSpan(
  traced: TracedRequest,
  attempt: AttemptSpan,
  index: number,
): Span {
  const { exchange, span, finished, operation } = traced;
  const isLast = index === span.attempts.length - 1;
  const { status, error, startedAt, backend } = attempt;
  const end = exchange.acceptedAt + (finished.durationMs ?? 0);
  // The last response is streamed to the end of the request.
  const isStreamed = isLast && error === undefined;
  const endedAt = isStreamed || attempt.endedAt === undefined
    ? end
    : timeOf(exchange, attempt.endedAt);
  const failure = error?.code ??
    (status !== undefined && status >= 400 ? String(status) : undefined);
  const own = isLast ? operation : operation &&
    { ...operation, usage: undefined, firstTokenMs: undefined };
  return {
    ...partsOf(span),
    spanId: attempt.spanId,
    parentSpanId: span.spanId,
    hasRemoteParent: false,
    name: own !== undefined
      ? llmSpanName(own)
      : span.rpc !== undefined
      ? rpcSpanName(span.rpc)
      : methodOf(exchange.request.method),
    kind: "client",
    startedAt: timeOf(exchange, startedAt),
    endedAt,
    attributes: {
      "http.request.method": methodOf(exchange.request.method),
      "http.request.resend_count": index === 0 ? undefined : index,
      "http.response.status_code": status,
      "url.full": urlOf(attempt),
      "server.address": backend.host,
      "server.port": backend.port,
      ...peerOf(attempt.endpoint),
      "error.type": failure,
      ...semanticAttributes(traced, own),
      "gateway.backend": backend.name,
    },
    error: failure === undefined ? undefined : error?.message ?? "",
    links: [],
  };
}

function partsOf({ traceId, parent }: RequestSpan) {
  return { traceId, state: parent?.state ?? "" };
}

/** Returns the time since the epoch of a monotonic time. */
function timeOf(
  { acceptedAt, startedAt }: Exchange,
  monotonic: number,
): number {
  return acceptedAt + (monotonic - startedAt);
}

function serverName({ exchange, span }: TracedRequest): string {
  if (span.rpc !== undefined) return rpcSpanName(span.rpc);
  const method = methodOf(exchange.originalRequest.method);
  const name = method === "_OTHER" ? "HTTP" : method;
  const route = routeOf(exchange);
  return route === undefined ? name : `${name} ${route}`;
}

/** Returns the path that the route matches by prefix: a path of the request could be anything. */
function routeOf({ routed }: Exchange): string | undefined {
  const { matchedPrefix } = routed;
  return matchedPrefix === undefined ? undefined : `${matchedPrefix}/*`;
}

function methodOf(method: string): string {
  return isKnownMethod(method) ? method : "_OTHER";
}

function errorType(status: number, reason: string): string {
  return reason === "upstream" || reason === "direct_response"
    ? String(status)
    : reason;
}

/** Attributes of the conventions for servers of HTTP; the query may have secrets, and is left out. */
function httpAttributes({ exchange, finished }: TracedRequest): Attributes {
  const { request, originalRequest } = exchange;
  const { method, authority } = originalRequest;
  const { scheme, source, version, headers } = request;
  const { host, port } = splitHostPort(authority) ??
    { host: authority, port: defaultPorts[scheme] };
  const known = methodOf(method);
  return {
    "http.request.method": known,
    "http.request.method_original": known === method ? undefined : method,
    "http.response.status_code": finished.status,
    "http.route": routeOf(exchange),
    "http.response.body.size": finished.bytesSent,
    "url.scheme": scheme,
    "url.path": hideSignatures(finished.path),
    "server.address": host === "" ? undefined : host,
    "server.port": port,
    "client.address": source.address,
    "client.port": source.port,
    "network.protocol.name": "http",
    "network.protocol.version": version,
    "user_agent.original": headers.get("user-agent"),
  };
}

function gatewayAttributes(finished: FinishedRequest): Attributes {
  const { gateway, listener, route, backend, requestId, reason } = finished;
  const { retries, failedOver = [] } = finished;
  return {
    "gateway.name": gateway,
    "gateway.listener": listener,
    "gateway.route": route,
    "gateway.backend": backend,
    "gateway.reason": reason,
    "gateway.request.id": requestId,
    "gateway.retries": retries === 0 ? undefined : retries,
    "gateway.failover": failedOver.length === 0 ? undefined : failedOver,
  };
}

function semanticAttributes(
  { exchange, span: { rpc } }: TracedRequest,
  operation: LlmOperation | undefined,
): Attributes {
  if (operation !== undefined) return llmAttributes(operation);
  if (rpc === undefined) return {};
  const { request, response } = exchange;
  return rpcAttributes(rpc, rpcSession(request.headers, response?.headers));
}

function urlOf({ backend, path }: AttemptSpan): string {
  const scheme = backend.tls === undefined ? "http" : "https";
  const isDefault = backend.port === defaultPorts[scheme];
  const host = backend.host.includes(":") ? `[${backend.host}]` : backend.host;
  const authority = isDefault ? host : `${host}:${backend.port}`;
  return `${scheme}://${authority}${hideSignatures(path)}`;
}

function peerOf(endpoint: string): Attributes {
  const peer = splitHostPort(endpoint);
  return {
    "network.peer.address": peer?.host,
    "network.peer.port": peer?.port,
  };
}
