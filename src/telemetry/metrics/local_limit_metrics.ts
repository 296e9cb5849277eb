import type { MetricRegistry, Reading } from "./metrics.ts";

/** Counters of a local limit. */
export interface LimitCounts {
  readonly scope: string;
  /** Its definition in words. */
  readonly name: string;
  readonly admitted: number;
  readonly refused: number;
  readonly tokens: number;
  readonly keys: number;
  readonly evictedKeys: number;
}

/** Adds the metrics of local limits, read at each collection. */
export function addLocalLimitMetrics(
  registry: MetricRegistry,
  read: () => Iterable<LimitCounts>,
): void {
  registry.computed({
    type: "counter",
    name: "gateway_rate_limit_requests_total",
    help: "Requests that a local limit admitted or refused",
    labelNames: [...labelNames, "result"],
    read: () =>
      Iterator.from(read()).flatMap(({ scope, name, admitted, refused }) => [
        { labels: [scope, name, "admitted"], value: admitted },
        { labels: [scope, name, "refused"], value: refused },
      ]),
  });
  registry.computed({
    type: "counter",
    name: "gateway_rate_limit_tokens_total",
    help: "LLM tokens charged to a local limit",
    labelNames,
    read: () => perLimit(read(), ({ tokens }) => tokens),
  });
  addKeyMetrics(registry, read);
}

const labelNames = ["scope", "limit"];

function addKeyMetrics(
  registry: MetricRegistry,
  read: () => Iterable<LimitCounts>,
): void {
  registry.computed({
    type: "gauge",
    name: "gateway_rate_limit_keys",
    help: "Keys of a local limit with a budget",
    labelNames,
    read: () => perLimit(read(), ({ keys }) => keys),
  });
  registry.computed({
    type: "counter",
    name: "gateway_rate_limit_evicted_keys_total",
    help: "Keys of a local limit evicted while their budget was in use",
    labelNames,
    read: () => perLimit(read(), ({ evictedKeys }) => evictedKeys),
  });
}

function perLimit(
  limits: Iterable<LimitCounts>,
  valueOf: (limit: LimitCounts) => number,
): Iterable<Reading> {
  return Iterator.from(limits).map((limit) => ({
    labels: [limit.scope, limit.name],
    value: valueOf(limit),
  }));
}
