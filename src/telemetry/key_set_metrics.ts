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
  registry.computed(
    "gauge",
    "gateway_jwks_age_seconds",
    "Since the keys of an identity provider were fetched; none while there are none",
    ["source"],
    () =>
      read().flatMap(({ source, ageSeconds }) =>
        ageSeconds === null ? [] : [{ labels: [source], value: ageSeconds }]
      ),
  );
  registry.computed(
    "counter",
    "gateway_jwks_refreshes_total",
    "Fetches of the keys of an identity provider",
    ["source", "result"],
    () =>
      read().flatMap(({ source, refreshes, failures }) => [
        { labels: [source, "success"], value: refreshes - failures },
        { labels: [source, "failure"], value: failures },
      ]),
  );
}
