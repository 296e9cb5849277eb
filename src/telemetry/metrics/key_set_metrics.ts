import type { MetricRegistry } from "./metrics.ts";

/** State of the key set of an identity provider. */
export interface KeySetReading {
  readonly source: string;
  readonly ageSeconds: number | null;
  readonly refreshes: number;
  readonly failures: number;
}

/** Adds the metrics of key sets, read at each collection. */
export function addKeySetMetrics(
  registry: MetricRegistry,
  read: () => readonly KeySetReading[],
): void {
  registry.computed({
    type: "gauge",
    name: "gateway_jwks_age_seconds",
    help:
      "Time since the keys of an identity provider were fetched; no series before the first fetch",
    labelNames: ["source"],
    read: () =>
      read().flatMap(({ source, ageSeconds }) =>
        ageSeconds === null ? [] : [{ labels: [source], value: ageSeconds }]
      ),
  });
  registry.computed({
    type: "counter",
    name: "gateway_jwks_refreshes_total",
    help: "Fetches of the keys of an identity provider",
    labelNames: ["source", "result"],
    read: () =>
      read().flatMap(({ source, refreshes, failures }) => [
        { labels: [source, "success"], value: refreshes - failures },
        { labels: [source, "failure"], value: failures },
      ]),
  });
}
