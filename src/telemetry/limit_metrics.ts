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
  const labels = ["scope", "limit"];
  registry.computed(
    "counter",
    "gateway_rate_limit_requests_total",
    "Requests that a local limit admitted or refused",
    [...labels, "result"],
    () =>
      Iterator.from(read()).flatMap(({ scope, name, admitted, refused }) => [
        { labels: [scope, name, "admitted"], value: admitted },
        { labels: [scope, name, "refused"], value: refused },
      ]),
  );
  const add = (
    type: "counter" | "gauge",
    name: string,
    help: string,
    field: "tokens" | "keys" | "evictedKeys",
  ) =>
    registry.computed(
      type,
      name,
      help,
      labels,
      () =>
        Iterator.from(read()).map((limit) => ({
          labels: [limit.scope, limit.name],
          value: limit[field],
        })),
    );
  add(
    "counter",
    "gateway_rate_limit_tokens_total",
    "LLM tokens charged to a local limit",
    "tokens",
  );
  add(
    "gauge",
    "gateway_rate_limit_keys",
    "Keys of a local limit that have a budget now",
    "keys",
  );
  add(
    "counter",
    "gateway_rate_limit_evicted_keys_total",
    "Keys of a local limit that were forgotten while their budget was in use",
    "evictedKeys",
  );
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
  const labels = ["store", "domain"];
  registry.computed(
    "counter",
    "gateway_rate_limit_shared_requests_total",
    "Requests that shared limits admitted or refused, or about which nobody could say anything",
    [...labels, "result"],
    () =>
      read().flatMap((limiter) =>
        (["admitted", "refused", "failed"] as const).map((result) => ({
          labels: [limiter.store, limiter.domain, result],
          value: limiter[result],
        }))
      ),
  );
  registry.computed(
    "counter",
    "gateway_rate_limit_shared_exchanges_total",
    "Exchanges with the store or service that keeps shared limits",
    [...labels, "result"],
    () =>
      read().flatMap(({ store, domain, exchanges }) =>
        Object.entries(exchanges).map(([result, value]) => ({
          labels: [store, domain, result],
          value,
        }))
      ),
  );
  const add = (
    type: "counter" | "gauge",
    name: string,
    help: string,
    valueOf: (limiter: SharedLimiterReading) => number,
  ) =>
    registry.computed(type, name, help, labels, () =>
      read().map((limiter) => ({
        labels: [limiter.store, limiter.domain],
        value: valueOf(limiter),
      })));
  add(
    "counter",
    "gateway_rate_limit_shared_waits_total",
    "Requests that waited for the store or service that keeps shared limits",
    ({ waits }) => waits,
  );
  add(
    "counter",
    "gateway_rate_limit_shared_lost_tokens_total",
    "LLM tokens that were never charged to shared limits",
    ({ lostTokens }) => lostTokens,
  );
  add(
    "gauge",
    "gateway_rate_limit_shared_failing",
    "1 while the store or service that keeps shared limits cannot be asked",
    ({ state }) => state === "failing" ? 1 : 0,
  );
}
