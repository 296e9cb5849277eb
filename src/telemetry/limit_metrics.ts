import type { MetricRegistry } from "./metrics.ts";

/** A local limit and what it did so far. */
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

/** The local limits, counted where their budgets are kept. */
export function addLimitMetrics(
  registry: MetricRegistry,
  read: () => Iterable<LimitCounts>,
): void {
  const labelNames = ["scope", "limit"];
  const perLimit = (valueOf: (limit: LimitCounts) => number) => () =>
    Iterator.from(read()).map((limit) => ({
      labels: [limit.scope, limit.name],
      value: valueOf(limit),
    }));
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
    read: perLimit(({ tokens }) => tokens),
  });
  registry.computed({
    type: "gauge",
    name: "gateway_rate_limit_keys",
    help: "Keys of a local limit that have a budget now",
    labelNames,
    read: perLimit(({ keys }) => keys),
  });
  registry.computed({
    type: "counter",
    name: "gateway_rate_limit_evicted_keys_total",
    help:
      "Keys of a local limit that were forgotten while their budget was in use",
    labelNames,
    read: perLimit(({ evictedKeys }) => evictedKeys),
  });
}

/** Who keeps shared limits, and what came of asking. */
export interface SharedLimiterReading {
  readonly domain: string;
  /** `KV`, or the address of a service. */
  readonly store: string;
  readonly state: string;
  readonly admitted: number;
  readonly refused: number;
  readonly failed: number;
  readonly waits: number;
  /** By what became of them. */
  readonly exchanges: Readonly<Record<string, number>>;
  readonly lostTokens: number;
}

/** The limits that processes share, as far as this process asked for them. */
export function addSharedLimitMetrics(
  registry: MetricRegistry,
  read: () => readonly SharedLimiterReading[],
): void {
  addResultMetrics(registry, read);
  const perLimiter =
    (valueOf: (limiter: SharedLimiterReading) => number) => () =>
      read().map((limiter) => ({
        labels: [limiter.store, limiter.domain],
        value: valueOf(limiter),
      }));
  registry.computed({
    type: "counter",
    name: "gateway_rate_limit_shared_waits_total",
    help:
      "Requests that waited for the store or service that keeps shared limits",
    labelNames: ["store", "domain"],
    read: perLimiter(({ waits }) => waits),
  });
  registry.computed({
    type: "counter",
    name: "gateway_rate_limit_shared_lost_tokens_total",
    help: "LLM tokens that were never charged to shared limits",
    labelNames: ["store", "domain"],
    read: perLimiter(({ lostTokens }) => lostTokens),
  });
  registry.computed({
    type: "gauge",
    name: "gateway_rate_limit_shared_failing",
    help:
      "1 while the store or service that keeps shared limits cannot be asked",
    labelNames: ["store", "domain"],
    read: perLimiter(({ state }) => state === "failing" ? 1 : 0),
  });
}

/** What is counted by what became of it. */
function addResultMetrics(
  registry: MetricRegistry,
  read: () => readonly SharedLimiterReading[],
): void {
  const labelNames = ["store", "domain", "result"];
  registry.computed({
    type: "counter",
    name: "gateway_rate_limit_shared_requests_total",
    help:
      "Requests that shared limits admitted or refused, or about which nobody could say anything",
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
    help: "Exchanges with the store or service that keeps shared limits",
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
