import { httpMethods } from "../../api/resources/http_method.ts";
import type { FinishedRequest } from "../log/finished_request.ts";
import { addLlmMetrics } from "./llm_metrics.ts";
import type { Counter, Histogram, MetricRegistry } from "./metrics.ts";

/** Seconds; fine where a proxy's own time shows, reaching to the minutes of an LLM's answer. */
// deno-fmt-ignore
const durationBounds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
  1, 2.5, 5, 10, 30, 60, 120, 300,
];

const knownMethods: ReadonlySet<string> = new Set(httpMethods);
const MAX_KNOWN_WAYS = 2000;

/** The series that one request adds to. */
interface RequestSeries {
  readonly requests: Counter;
  readonly requestDuration: Histogram;
  readonly responseBytes: Counter;
  /** None for requests that no backend was chosen for. */
  readonly upstreamDuration: Histogram | undefined;
}

/** What is counted of every request that is over. */
export class RequestMetrics {
  readonly #families: ReturnType<typeof createFamilies>;
  readonly #recordTokens: (request: FinishedRequest) => void;
  readonly #known = new Map<string, RequestSeries>();

  constructor(registry: MetricRegistry) {
    this.#families = createFamilies(registry);
    this.#recordTokens = addLlmMetrics(registry);
  }

  /** Counts a finished request in every metric that it concerns. */
  record(request: FinishedRequest): void {
    const series = this.#seriesOf(request);
    series.requests.inc();
    if (request.durationMs !== undefined) {
      series.requestDuration.observe(request.durationMs / 1000);
    }
    series.responseBytes.inc(request.bytesSent);
    if (request.upstreamDurationMs !== undefined) {
      series.upstreamDuration?.observe(request.upstreamDurationMs / 1000);
    }
    this.#recordTokens(request);
    for (const policy of request.failedExpressions ?? []) {
      const { expressionFailures } = this.#families;
      expressionFailures.labels(policy, request.route ?? "").inc();
    }
    if (request.retries > 0) {
      const { retries } = this.#families;
      retries.labels(request.backend ?? "").inc(request.retries);
    }
  }

  /** One look-up for requests that went the same way, in place of one for each metric. */
  #seriesOf(request: FinishedRequest): RequestSeries {
    const { gateway = "", listener = "", route = "", backend = "" } = request;
    const method = knownMethods.has(request.method) ? request.method : "other";
    const { status, reason } = request;
    const key =
      `${route}\0${backend}\0${listener}\0${gateway}\0${method}\0${status}\0${reason}`;
    const found = this.#known.get(key);
    if (found !== undefined) return found;
    const way = [gateway, listener, route, backend];
    const families = this.#families;
    const series = {
      requests: families.requests.labels(
        ...way,
        method,
        String(status),
        reason,
      ),
      requestDuration: families.requestDuration.labels(...way),
      responseBytes: families.responseBytes.labels(...way),
      upstreamDuration: request.backend === undefined
        ? undefined
        : families.upstreamDuration.labels(backend),
    };
    if (this.#known.size >= MAX_KNOWN_WAYS) this.#known.clear();
    this.#known.set(key, series);
    return series;
  }
}

function createFamilies(registry: MetricRegistry) {
  const served = ["gateway", "listener", "route", "backend"];
  return {
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
    expressionFailures: registry.counter(
      "gateway_expression_failures_total",
      "Expressions of policies that had no value for a request",
      ["policy", "route"],
    ),
    retries: registry.counter(
      "gateway_retries_total",
      "Requests sent upstream again",
      ["backend"],
    ),
  };
}
