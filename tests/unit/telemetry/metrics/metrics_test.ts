import assert from "node:assert/strict";
import { metricsText } from "../../../harness/telemetry/metrics_text.ts";
import { MetricRegistry } from "../../../../src/telemetry/metrics/metrics.ts";

Deno.test("MetricRegistry prints counters and gauges in the text format", () => {
  const registry = new MetricRegistry();
  const requests = registry.counter("requests_total", "Requests", [
    "method",
    "status",
  ]);
  const open = registry.gauge("open", "Open connections");

  requests.labels("GET", "200").inc();
  requests.labels("GET", "200").inc(2);
  requests.labels("POST", "500").inc();
  open.labels().set(5);
  open.labels().set(4);

  assert.equal(
    metricsText(registry),
    `# HELP requests_total Requests
# TYPE requests_total counter
requests_total{method="GET",status="200"} 3
requests_total{method="POST",status="500"} 1
# HELP open Open connections
# TYPE open gauge
open 4
`,
  );
});

Deno.test("MetricRegistry prints a histogram with cumulative buckets", () => {
  const registry = new MetricRegistry();
  const duration = registry.histogram(
    "duration_seconds",
    "Duration",
    ["route"],
    [0.1, 1],
  );

  for (const seconds of [0.05, 0.1, 0.5, 7]) {
    duration.labels("mcp").observe(seconds);
  }

  assert.equal(
    metricsText(registry),
    `# HELP duration_seconds Duration
# TYPE duration_seconds histogram
duration_seconds_bucket{route="mcp",le="0.1"} 2
duration_seconds_bucket{route="mcp",le="1"} 3
duration_seconds_bucket{route="mcp",le="+Inf"} 4
duration_seconds_sum{route="mcp"} 7.65
duration_seconds_count{route="mcp"} 4
`,
  );
});

Deno.test("MetricRegistry prints a metric without labels before its first change", () => {
  const registry = new MetricRegistry();

  registry.counter("errors_total", "Errors");

  assert.match(metricsText(registry), /^errors_total 0$/m);
});

Deno.test("MetricRegistry escapes label values and help", () => {
  const registry = new MetricRegistry();

  registry.counter("odd_total", 'A \\ and\na "quote"', ["path"]).labels(
    'C:\\x "y"\nz',
  ).inc();

  assert.match(
    metricsText(registry),
    /^# HELP odd_total A \\\\ and\\na "quote"$/m,
  );
  assert.match(
    metricsText(registry),
    /^odd_total\{path="C:\\\\x \\"y\\"\\nz"\} 1$/m,
  );
});

Deno.test("MetricRegistry reads a computed metric at each collection", () => {
  const registry = new MetricRegistry();
  let idle = 1;
  registry.computed(
    "gauge",
    "pool",
    "Connections",
    ["state"],
    () => [[idle, "idle"]],
  );

  const before = metricsText(registry);
  idle = 2;
  const after = metricsText(registry);

  assert.match(before, /^pool\{state="idle"\} 1$/m);
  assert.match(after, /^pool\{state="idle"\} 2$/m);
});

Deno.test("MetricRegistry counts series beyond the bound of a family as one", () => {
  const registry = new MetricRegistry();
  const requests = registry.counter("requests_total", "Requests", ["id"]);

  for (let id = 0; id < 2500; id++) requests.labels(`id-${id}`).inc();

  const samples = metricsText(registry).split("\n").filter((line) =>
    line.startsWith("requests_total{")
  );
  assert.equal(samples.length, 2001);
  assert.equal(samples.at(-1), 'requests_total{id="other"} 500');
});

Deno.test("MetricRegistry rejects a second metric of one name and a wrong number of labels", () => {
  const registry = new MetricRegistry();
  const requests = registry.counter("requests_total", "Requests", ["method"]);

  assert.throws(
    () => registry.gauge("requests_total", "Again"),
    /Cannot register metric "requests_total"/,
  );
  assert.throws(
    () => requests.labels("GET", "200"),
    /expected 1 values, got 2/,
  );
});
