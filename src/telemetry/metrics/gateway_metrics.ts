import type { Clock } from "../../base/clock.ts";
import type { FinishedRequest } from "../log/finished_request.ts";
import { createToolCallMetrics } from "./mcp_metrics.ts";
import { MetricRegistry } from "./metrics.ts";
import { addHeapMetrics, addProcessMetrics } from "./process_metrics.ts";
import {
  type LlmUse,
  type MirroredResponse,
  RequestMetrics,
} from "./request_metrics.ts";

/** Facts about the process. */
export interface MetricsEnvironment {
  readonly clock: Clock;
  readonly version: string;
}

/** Metrics of traffic: those of a data plane. */
export type TrafficMetrics = ReturnType<typeof createTrafficMetrics>;

/** All metrics of the gateway. */
export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;

/** Creates the metrics of a data plane. */
export function createTrafficMetrics() {
  const registry = new MetricRegistry();
  const requests = new RequestMetrics(registry);
  addHeapMetrics(registry);
  return {
    registry,
    /** Counts a finished request. */
    recordRequest: (request: FinishedRequest) => requests.record(request),
    /** Counts a call of a tool of an MCP server. */
    recordToolCall: createToolCallMetrics(registry),
    /** Counts tokens and cost of an attempt whose answer no client got. */
    recordUse: (use: LlmUse) => requests.recordUse(use),
    /** Counts the response of an LLM to a copy of a request. */
    recordMirror: (copy: MirroredResponse) => requests.recordMirror(copy),
    handshakeFailures: registry.counter(
      "gateway_downstream_handshake_failures_total",
      "TLS handshakes with clients that failed",
      ["port", "reason"],
    ),
    rejectedConnections: registry.counter(
      "gateway_downstream_connections_rejected_total",
      "Downstream connections rejected",
      ["port", "reason"],
    ),
    compiledRoutes: registry.counter(
      "gateway_config_compiled_routes_total",
      "Routes compiled for configurations that came into force; a route is compiled again when it, or something it uses, has changed",
    ).labels(),
    failovers: registry.counter(
      "gateway_failovers_total",
      "Requests that left a backend for another",
      ["backend", "reason"],
    ),
    backendTokens: registry.counter(
      "gateway_backend_token_requests_total",
      "Requests to authorization servers for tokens for backends",
      ["backend", "result"],
    ),
    hedges: registry.counter(
      "gateway_hedges_total",
      "Requests sent to a second backend because the first was late, by the second",
      ["backend"],
    ),
    mirrorFailures: registry.counter(
      "gateway_mirror_failures_total",
      "Copies of requests that did not reach their mirror",
      ["backend"],
    ),
  };
}

/** Creates the metrics; the body of `/metrics` is made of its registry. */
export function createGatewayMetrics({ clock, version }: MetricsEnvironment) {
  const traffic = createTrafficMetrics();
  const { registry } = traffic;
  const metrics = {
    ...traffic,
    configReloads: registry.counter(
      "gateway_config_reloads_total",
      "Configurations applied or rejected, the first included",
      ["result"],
    ),
    adminRejections: registry.counter(
      "gateway_admin_rejections_total",
      "Requests that the admin interface rejected for their token",
      ["reason"],
    ),
    configSynchronized: registry.gauge(
      "gateway_config_synchronized",
      "1 while the latest configuration is applied, 0 after a rejected one",
    ).labels(),
  };
  registry.gauge("gateway_build_info", "Version of the gateway; always 1", [
    "version",
  ]).labels(version).set(1);
  addProcessMetrics(registry, clock);
  return metrics;
}
