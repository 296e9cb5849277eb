import assert from "node:assert/strict";
import { createEnvelope } from "../../../../src/telemetry/otlp/messages/attributes_message.ts";
import { encodeLogRecord } from "../../../../src/telemetry/otlp/messages/log_message.ts";
import { encodeMetric } from "../../../../src/telemetry/otlp/messages/metric_message.ts";
import { encodeSpan } from "../../../../src/telemetry/otlp/messages/span_message.ts";
import { MetricRegistry } from "../../../../src/telemetry/metrics/metrics.ts";
import {
  readAttributes,
  readOtlp,
} from "../../../harness/servers/otlp_collector.ts";

const envelope = createEnvelope({
  resource: { "service.name": "test" },
  scope: { name: "scope", version: "1" },
});
const NOW = Date.UTC(2026, 0, 1) + 0.125;

Deno.test("attributes of all types are read as they were", () => {
  const attributes = {
    text: "ü\0",
    empty: "",
    flag: false,
    whole: -5,
    large: 2 ** 53,
    fraction: 0.1,
    list: ["a", "b"],
    absent: undefined,
  };
  const span = {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    parentSpanId: undefined,
    hasRemoteParent: false,
    state: "",
    name: "GET",
    kind: "internal",
    startedAt: NOW,
    endedAt: NOW + 1.5,
    attributes,
    error: "it failed",
    links: [{ traceId: "f".repeat(32), spanId: "e".repeat(16) }],
  } as const;

  const [read] = readOtlp("traces", envelope([encodeSpan(span)])).spans;

  const { absent: _, ...present } = attributes;
  const { error: message, hasRemoteParent: __, ...same } = span;
  assert.deepEqual(read, {
    ...same,
    parentSpanId: "",
    kind: "INTERNAL",
    attributes: present,
    status: "ERROR",
    message,
    flags: 0x101,
  });
});

Deno.test("long strings are cut between characters", () => {
  const long = "a" + "😀".repeat(3000);
  const record = encodeLogRecord({
    time: NOW,
    level: "info",
    body: "x",
    attributes: { long },
    trace: undefined,
  }, NOW);

  const [read] = readOtlp("logs", envelope([record])).logs;

  const text = String(read?.attributes["long"]);
  assert.equal(text.length, 4096);
  assert(text.isWellFormed());
});

Deno.test("counters, gauges and histograms are those of /metrics", () => {
  const registry = new MetricRegistry();
  registry.counter("requests_total", "Requests", ["path"])
    .labels('/a"\\\nb').inc(3);
  registry.gauge("heap_bytes", "Heap").labels().set(0.5);
  const histogram = registry.histogram("wait_seconds", "Wait", ["x"], [1, 2]);
  for (const value of [0.5, 1.5, 1.6, 9]) histogram.labels("a").observe(value);
  histogram.labels("b").observe(2);
  const times = { startedAt: NOW - 1000, now: NOW };

  const { metrics: [counter, gauge, wait] } = readOtlp(
    "metrics",
    envelope(registry.read().map((metric) => encodeMetric(metric, times))),
  );

  const [requests] = counter.sum.data_points;
  assert.equal(counter.name, "requests_total");
  assert.equal(counter.sum.is_monotonic, true);
  assert.match(counter.sum.aggregation_temporality, /CUMULATIVE$/);
  assert.deepEqual(readAttributes(requests.attributes), { path: '/a"\\\nb' });
  assert.equal(requests.as_double, 3);
  assert.equal(Number(requests.time_unix_nano) / 1e6, NOW);
  assert.equal(gauge.unit, "By");
  assert.equal(gauge.gauge.data_points[0].as_double, 0.5);
  const [a, b] = wait.histogram.data_points;
  assert.equal(wait.unit, "s");
  assert.deepEqual(readAttributes(a.attributes), { x: "a" });
  assert.deepEqual(a.explicit_bounds, [1, 2]);
  assert.deepEqual(a.bucket_counts, ["1", "2", "1"]);
  assert.equal(a.count, "4");
  assert.equal(a.sum, 12.6);
  assert.deepEqual(b.bucket_counts, ["0", "1", "0"]);
});
