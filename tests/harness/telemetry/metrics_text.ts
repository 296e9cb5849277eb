import type { MetricRegistry } from "../../../src/telemetry/metrics/metrics.ts";
import { toText } from "../../../src/telemetry/metrics/prometheus_text.ts";

/** Returns the metrics of a registry in the Prometheus text format. @param names Only the metrics of these names. */
export function metricsText(
  registry: MetricRegistry,
  names?: ReadonlySet<string>,
): string {
  return registry.read(names)
    .map((metric) => toText(metric, metric.samples)).join("");
}
