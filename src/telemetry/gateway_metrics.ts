import { httpMethods } from "../api/http_method.ts";
import type { Clock } from "../base/clock.ts";
import type { FinishedRequest } from "./finished_request.ts";
import { addLlmMetrics } from "./llm_metrics.ts";
import { type Counter, type Histogram, MetricRegistry } from "./metrics.ts";
import { addProcessMetrics } from "./process_metrics.ts";

/** Seconds; fine where a proxy's own time shows, reaching to the minutes of an LLM's answer. */
// deno-fmt-ignore
const durationBounds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
  1, 2.5, 5, 10, 30, 60, 120, 300,
];

const knownMethods: ReadonlySet<string> = new Set(httpMethods);

/** What the metrics tell of the process itself. */
export interface MetricsEnvironment {
  readonly clock: Clock;
  readonly version: string;
}

/** Every metric of the gateway. */
export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;

/** The series that one request adds to. */
interface RequestSeries {
  readonly requests: Counter;
  readonly requestDuration: Histogram;
  readonly responseBytes: Counter;
  /** None for requests that no backend was chosen for. */
  readonly upstreamDuration: Histogram | undefined;
}

const maxKnownWays = 2000;

/** The metrics, all at zero; `collect()` of the registry is what `/metrics` answers. */
export function createGatewayMetrics({ clock, version }: MetricsEnvironment) {
  const registry = new MetricRegistry();
  const known = new Map<string, RequestSeries>();
  const served = ["gateway", "listener", "route", "backend"];
  const metrics = {
    registry,
    requests: registry.counter(
      "gateway_requests_total",
      "Requests answered",
      [...served, "method", "status", "reason"],
    ),
    requestDuration: registry.histogram(
      "gateway_request_duration_seconds",
      "From the acceptance of a request to the last byte of its response",
      served,
      durationBounds,
    ),
    upstreamDuration: registry.histogram(
      "gateway_upstream_duration_seconds",
      "From sending a request upstream to the head of the response, over all tries",
      ["backend"],
      durationBounds,
    ),
    responseBytes: registry.counter(
      "gateway_response_bytes_total",
      "Bytes of response bodies sent",
      served,
    ),
    retries: registry.counter(
      "gateway_retries_total",
      "Requests sent upstream again",
      ["backend"],
    ),
    handshakeFailures: registry.counter(
      "gateway_downstream_handshake_failures_total",
      "TLS handshakes with clients that failed",
      ["port", "reason"],
    ),
    rejectedConnections: registry.counter(
      "gateway_downstream_connections_rejected_total",
      "Connections of clients turned away",
      ["port", "reason"],
    ),
    mirrorFailures: registry.counter(
      "gateway_mirror_failures_total",
      "Copies of requests that did not reach their mirror",
      ["backend"],
    ),
    configReloads: registry.counter(
      "gateway_config_reloads_total",
      "Configurations applied or rejected, the first included",
      ["result"],
    ),
    configSynchronized: registry.gauge(
      "gateway_config_synchronized",
      "1 while the configuration in force is the latest one given, 0 after a rejected one",
    ).labels(),
    recordRequest,
  };
  registry.gauge("gateway_build_info", "Version of the gateway; always 1", [
    "version",
  ]).labels(version).set(1);
  const recordTokens = addLlmMetrics(registry);
  addProcessMetrics(registry, clock);
  return metrics;

  /** Counts a finished request in every metric that it concerns. */
  function recordRequest(request: FinishedRequest): void {
    const series = seriesOf(request);
    series.requests.inc();
    if (request.durationMs !== undefined) {
      series.requestDuration.observe(request.durationMs / 1000);
    }
    series.responseBytes.inc(request.bytesSent);
    if (request.upstreamDurationMs !== undefined) {
      series.upstreamDuration?.observe(request.upstreamDurationMs / 1000);
    }
    recordTokens(request);
    if (request.retries > 0) {
      metrics.retries.labels(request.backend ?? "").inc(request.retries);
    }
  }

  /** One look-up for requests that went the same way, in place of one for each metric. */
  function seriesOf(request: FinishedRequest): RequestSeries {
    const { gateway = "", listener = "", route = "", backend = "" } = request;
    const method = knownMethods.has(request.method) ? request.method : "other";
    const { status, reason } = request;
    const key =
      `${route}\0${backend}\0${listener}\0${gateway}\0${method}\0${status}\0${reason}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const way = [gateway, listener, route, backend];
    const series = {
      requests: metrics.requests.labels(
        ...way,
        method,
        String(status),
        reason,
      ),
      requestDuration: metrics.requestDuration.labels(...way),
      responseBytes: metrics.responseBytes.labels(...way),
      upstreamDuration: request.backend === undefined
        ? undefined
        : metrics.upstreamDuration.labels(backend),
    };
    if (known.size >= maxKnownWays) known.clear();
    known.set(key, series);
    return series;
  }
}
