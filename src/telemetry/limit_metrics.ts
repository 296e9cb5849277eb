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
  read: () => readonly LimitCounts[],
): void {
  const labels = ["scope", "limit"];
  registry.computed(
    "counter",
    "gateway_rate_limit_requests_total",
    "Requests that a local limit admitted or refused",
    [...labels, "result"],
    () =>
      read().flatMap(({ scope, name, admitted, refused }) => [
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
    registry.computed(type, name, help, labels, () =>
      read().map((limit) => ({
        labels: [limit.scope, limit.name],
        value: limit[field],
      })));
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
