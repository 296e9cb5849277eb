import type { MetricRegistry } from "./metrics.ts";

/** Counters of one store or service of global limits. */
export interface GlobalLimiterReading {
  readonly domain: string;
  /** `KV`, or the address of a service. */
  readonly store: string;
  readonly state: string;
  readonly admitted: number;
  readonly refused: number;
  readonly failed: number;
  readonly waits: number;
  /** By result. */
  readonly exchanges: Readonly<Record<string, number>>;
  readonly lostTokens: number;
}

/** Adds the metrics of global limits, as this process used them. */
export function addGlobalLimitMetrics(
  registry: MetricRegistry,
  read: () => readonly GlobalLimiterReading[],
): void {
  addResultMetrics(registry, read);
  const perLimiter =
    (valueOf: (limiter: GlobalLimiterReading) => number) => () =>
      read().map((limiter) => ({
        labels: [limiter.store, limiter.domain],
        value: valueOf(limiter),
      }));
  registry.computed({
    type: "counter",
    name: "gateway_rate_limit_shared_waits_total",
    help: "Requests that waited for the store or service of global limits",
    labelNames: ["store", "domain"],
    read: perLimiter(({ waits }) => waits),
  });
  registry.computed({
    type: "counter",
    name: "gateway_rate_limit_shared_lost_tokens_total",
    help: "LLM tokens that were never charged to global limits",
    labelNames: ["store", "domain"],
    read: perLimiter(({ lostTokens }) => lostTokens),
  });
  registry.computed({
    type: "gauge",
    name: "gateway_rate_limit_shared_failing",
    help: "1 while the store or service of global limits is unavailable",
    labelNames: ["store", "domain"],
    read: perLimiter(({ state }) => state === "failing" ? 1 : 0),
  });
}

/** Adds the metrics with a label `result`. */
function addResultMetrics(
  registry: MetricRegistry,
  read: () => readonly GlobalLimiterReading[],
): void {
  const labelNames = ["store", "domain", "result"];
  registry.computed({
    type: "counter",
    name: "gateway_rate_limit_shared_requests_total",
    help:
      "Requests that global limits admitted or refused, or that got no verdict",
    labelNames,
    read: () =>
      read().flatMap((limiter) =>
        (["admitted", "refused", "failed"] as const).map((result) => ({
          labels: [limiter.store, limiter.domain, result],
          value: limiter[result],
        }))
      ),
  });
  registry.computed({
    type: "counter",
    name: "gateway_rate_limit_shared_exchanges_total",
    help: "Exchanges with the store or service of global limits",
    labelNames,
    read: () =>
      read().flatMap(({ store, domain, exchanges }) =>
        Object.entries(exchanges).map(([result, value]) => ({
          labels: [store, domain, result],
          value,
        }))
      ),
  });
}
