import { httpMethods } from "../../api/rules/http_match.ts";
import { NANO_USD } from "../../base/log/log_text.ts";
import type { FinishedRequest } from "../log/finished_request.ts";
import type { Counter, Histogram, MetricRegistry } from "./metrics.ts";

/** Seconds; fine-grained for the overhead of a proxy, up to the minutes of an LLM response. */
// deno-fmt-ignore
const durationBounds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
  1, 2.5, 5, 10, 30, 60, 120, 300,
];

const knownMethods: ReadonlySet<string> = new Set(httpMethods);

/** Returns whether a method is one that configurations can name; clients may send any. */
export function isKnownMethod(method: string): boolean {
  return knownMethods.has(method);
}

const MAX_KNOWN_SERIES = 2000;

/** Series of requests that share labels. */
interface RequestSeries {
  readonly requests: Counter;
  readonly requestDuration: Histogram;
  readonly responseBytes: Counter;
  /** `undefined` for requests without a backend. */
  readonly upstreamDuration: Histogram | undefined;
}

/** The use of an LLM by a request, or by an attempt of one. */
export type LlmUse =
  & Pick<FinishedRequest, "route" | "backend" | "usage">
  & Partial<Pick<FinishedRequest, "uncounted" | "firstTokenMs" | "trace">>;

/** The response of an LLM to a copy of a request. */
export interface MirroredResponse extends LlmUse {
  /** Status, or the code of an error. */
  readonly status: string;
  /** Time until the head of the response, or the error. */
  readonly latencyMs: number;
}

/** Counts finished requests. */
export class RequestMetrics {
  readonly #families: ReturnType<typeof createFamilies>;
  readonly #recordTokens: (request: LlmUse) => void;
  readonly #known = new KnownSeries<RequestSeries>();

  constructor(registry: MetricRegistry) {
    this.#families = createFamilies(registry);
    this.#recordTokens = addLlmMetrics(registry);
  }

  /** Counts a finished request. */
  record(request: FinishedRequest): void {
    const series = this.#seriesOf(request);
    const span = exampleOf(request);
    series.requests.inc();
    if (request.durationMs !== undefined) {
      series.requestDuration.observe(request.durationMs / 1000, span);
    }
    series.responseBytes.inc(request.bytesSent);
    if (request.upstreamDurationMs !== undefined) {
      series.upstreamDuration?.observe(request.upstreamDurationMs / 1000, span);
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

  /** Counts the response of an LLM to a copy of a request. */
  recordMirror(copy: MirroredResponse): void {
    const { route = "", backend = "", status, latencyMs } = copy;
    this.#families.mirrorDuration.labels(route, backend, status)
      .observe(latencyMs / 1000);
    this.#recordTokens(copy);
  }

  /** Counts what an attempt used whose answer no client got. */
  recordUse(use: LlmUse): void {
    this.#recordTokens(use);
  }

  #seriesOf(request: FinishedRequest): RequestSeries {
    const { gateway = "", listener = "", route = "", backend = "" } = request;
    const method = isKnownMethod(request.method) ? request.method : "other";
    const { status, reason } = request;
    const names = [route, backend, listener, gateway, method, status, reason];
    return this.#known.get(names, () => {
      const path = [gateway, listener, route, backend];
      const families = this.#families;
      return {
        requests: families.requests.labels(
          ...path,
          method,
          String(status),
          reason,
        ),
        requestDuration: families.requestDuration.labels(
          ...path,
          classOf(status),
        ),
        responseBytes: families.responseBytes.labels(...path),
        upstreamDuration: request.backend === undefined
          ? undefined
          : families.upstreamDuration.labels(backend),
      };
    });
  }
}

/** Returns the span of a request if a collector gets it. */
function exampleOf(
  { trace }: Pick<FinishedRequest, "trace">,
): FinishedRequest["trace"] {
  return trace?.isSampled === true ? trace : undefined;
}

/** Returns `2xx` for 200. */
function classOf(status: number): string {
  return `${Math.floor(status / 100)}xx`;
}

function createFamilies(registry: MetricRegistry) {
  const served = ["gateway", "listener", "route", "backend"];
  return {
    requests: registry.counter(
      "gateway_requests_total",
      "Requests finished",
      [...served, "method", "status", "reason"],
    ),
    requestDuration: registry.histogram(
      "gateway_request_duration_seconds",
      "From the acceptance of a request to the last byte of its response",
      [...served, "status_class"],
      durationBounds,
    ),
    upstreamDuration: registry.histogram(
      "gateway_upstream_duration_seconds",
      "From sending a request upstream to the head of the response, over all attempts",
      ["backend"],
      durationBounds,
    ),
    responseBytes: registry.counter(
      "gateway_response_bytes_total",
      "Bytes of response bodies sent",
      served,
    ),
    mirrorDuration: registry.histogram(
      "gateway_mirror_duration_seconds",
      "From sending a copy of a request to an LLM until the head of the response, by status or error",
      ["route", "backend", "status"],
      durationBounds,
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

/** Series of LLM responses that share labels. */
interface LlmSeries {
  readonly responses: Counter;
  readonly input: Counter;
  readonly output: Counter;
  /** Created with the first cached token. */
  cachedInput: Counter | undefined;
  /** Created with the first output whose time is known. */
  firstToken: Histogram | undefined;
  /** US dollars, or responses without a price. */
  readonly cost: Counter;
}

function createLlmFamilies(registry: MetricRegistry) {
  const served = ["route", "backend"];
  return {
    tokens: registry.counter(
      "gateway_llm_tokens_total",
      "Tokens that LLM responses used, input or output",
      [...served, "model", "type"],
    ),
    cached: registry.counter(
      "gateway_llm_cached_input_tokens_total",
      "Input tokens from the prompt cache; gateway_llm_tokens_total counts them too",
      [...served, "model"],
    ),
    firstToken: registry.histogram(
      "gateway_llm_time_to_first_token_seconds",
      "From the acceptance of a request to the first output of the LLM",
      [...served, "model"],
      durationBounds,
    ),
    responses: registry.counter(
      "gateway_llm_answers_total",
      "LLM responses by source of their token counts: the provider, an estimate, or none",
      [...served, "usage_source"],
    ),
    cost: registry.counter(
      "gateway_llm_cost_usd_total",
      "Cost of LLM responses in US dollars, of models with a price",
      [...served, "model"],
    ),
    unpriced: registry.counter(
      "gateway_llm_unpriced_answers_total",
      "LLM responses of models without a price",
      [...served, "model"],
    ),
  };
}

/** Adds the token metrics; the returned function counts a request in them. */
function addLlmMetrics(
  registry: MetricRegistry,
): (request: LlmUse) => void {
  const { tokens, cached, firstToken, responses, cost, unpriced } =
    createLlmFamilies(registry);
  const known = new KnownSeries<LlmSeries>();
  return (request) => {
    const { route = "", backend = "", usage, uncounted, firstTokenMs } =
      request;
    if (uncounted !== undefined) responses.labels(route, backend, "none").inc();
    if (usage === undefined) return;
    const { responseModel: model = "", cachedInputTokens = 0 } = usage;
    const source = usage.estimated ? "estimated" : "reported";
    const { isPriced, nanoUsd } = usage;
    const labelsOf = (type: string) =>
      tokens.labels(route, backend, model, type);
    const series = known.get(
      [route, backend, source, String(isPriced), model],
      () => ({
        responses: responses.labels(route, backend, source),
        input: labelsOf("input"),
        output: labelsOf("output"),
        cachedInput: undefined,
        firstToken: undefined,
        cost: (isPriced ? cost : unpriced).labels(route, backend, model),
      }),
    );
    series.responses.inc();
    series.input.inc(usage.inputTokens);
    series.output.inc(usage.outputTokens);
    series.cost.inc(isPriced ? nanoUsd / NANO_USD : 1);
    if (firstTokenMs !== undefined) {
      series.firstToken ??= firstToken.labels(route, backend, model);
      series.firstToken.observe(firstTokenMs / 1000, exampleOf(request));
    }
    if (cachedInputTokens === 0) return;
    series.cachedInput ??= cached.labels(route, backend, model);
    series.cachedInput.inc(cachedInputTokens);
  };
}

/** Series by their labels: one look-up in place of one per metric. */
class KnownSeries<Series> {
  readonly #byKey = new Map<string, Series>();
  /** Those of the last request: many are alike, and a key takes time to put together. */
  #lastNames: readonly (string | number)[] = [];
  #last: Series | undefined;

  get(names: readonly (string | number)[], create: () => Series): Series {
    if (this.#last !== undefined && areSame(this.#lastNames, names)) {
      return this.#last;
    }
    const key = names.join("\0");
    let series = this.#byKey.get(key);
    if (series === undefined) {
      if (this.#byKey.size >= MAX_KNOWN_SERIES) this.#byKey.clear();
      this.#byKey.set(key, series = create());
    }
    this.#lastNames = names;
    this.#last = series;
    return series;
  }
}

/** Lists of the same kind have the same length. */
function areSame(
  some: readonly (string | number)[],
  others: readonly (string | number)[],
): boolean {
  for (let i = 0; i < some.length; i++) {
    if (some[i] !== others[i]) return false;
  }
  return true;
}
