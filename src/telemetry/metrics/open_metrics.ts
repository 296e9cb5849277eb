import type { Exemplar, MetricReading } from "./metrics.ts";
import { escapeValue, toNumber } from "./prometheus_text.ts";

/**
 * Returns metrics in the OpenMetrics format, version 1.0.0, with exemplars: a value of a bucket, and the trace to look at.
 */
export function toOpenMetrics(metrics: readonly MetricReading[]): string {
  let text = "";
  for (const { name, type, help, samples } of metrics) {
    const family = type === "counter" ? name.replace(/_total$/, "") : name;
    const kind = type === "counter" && family === name ? "unknown" : type;
    const escaped = escapeValue(help);
    text += `# HELP ${family} ${escaped}\n# TYPE ${family} ${kind}\n`;
    for (const [series, value, exemplar] of samples) {
      text += `${series} ${toNumber(value)}${formatExemplar(exemplar)}\n`;
    }
  }
  return text + "# EOF\n";
}

function formatExemplar(exemplar: Exemplar | undefined): string {
  if (exemplar === undefined) return "";
  const { traceId, spanId, value } = exemplar;
  return ` # {trace_id="${traceId}",span_id="${spanId}"} ${toNumber(value)}`;
}
