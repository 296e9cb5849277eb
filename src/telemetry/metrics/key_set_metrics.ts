import type { MetricRegistry } from "./metrics.ts";

/** State of the keys of an identity provider. */
export interface KeySetReading {
  readonly source: string;
  readonly ageSeconds: number | null;
  readonly refreshes: number;
  readonly failures: number;
}

/** The keys of identity providers, as they are where they are kept. */
export function addKeySetMetrics(
  registry: MetricRegistry,
  read: () => readonly KeySetReading[],
): void {
  registry.computed({
    type: "gauge",
    name: "gateway_jwks_age_seconds",
    help:
      "Since the keys of an identity provider were fetched; none while there are none",
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
