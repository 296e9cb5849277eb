import assert from "node:assert/strict";
import { metricsText } from "../../../harness/telemetry/metrics_text.ts";
import { addStateMetrics } from "../../../../src/telemetry/metrics/state_metrics.ts";
import {
  createGatewayMetrics,
} from "../../../../src/telemetry/metrics/gateway_metrics.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { finishedRequest, tokenUsage } from "../finished_request.ts";

function createTestMetrics() {
  const clock = new FakeClock();
  return { clock, metrics: createGatewayMetrics({ clock, version: "1.2.3" }) };
}

Deno.test("GatewayMetrics count a finished request in all its metrics", () => {
  const { metrics } = createTestMetrics();

  metrics.recordRequest({ ...finishedRequest, retries: 2 });

  const served =
    'gateway="default",listener="http",route="mcp",backend="tools"';
  const text = metricsText(metrics.registry);
  for (
    const line of [
      `gateway_requests_total{${served},method="GET",status="200",reason="upstream"} 1`,
      `gateway_request_duration_seconds_bucket{${served},status_class="2xx",le="0.0025"} 0`,
      `gateway_request_duration_seconds_bucket{${served},status_class="2xx",le="0.005"} 1`,
      `gateway_request_duration_seconds_count{${served},status_class="2xx"} 1`,
      `gateway_upstream_duration_seconds_count{backend="tools"} 1`,
      `gateway_response_bytes_total{${served}} 300`,
      `gateway_retries_total{backend="tools"} 2`,
    ]
  ) assert.ok(text.includes(`\n${line}\n`), line);
});

Deno.test("GatewayMetrics count unknown methods as one", () => {
  const { metrics } = createTestMetrics();

  metrics.recordRequest({ ...finishedRequest, method: "BREW" });
  metrics.recordRequest({ ...finishedRequest, method: "get" });

  assert.match(
    metricsText(metrics.registry),
    /^gateway_requests_total\{.*method="other".*\} 2$/m,
  );
});

Deno.test("GatewayMetrics count a request that no route served", () => {
  const { metrics } = createTestMetrics();

  metrics.recordRequest({
    ...finishedRequest,
    route: undefined,
    backend: undefined,
    upstreamDurationMs: undefined,
    status: 404,
    reason: "route_not_found",
  });

  const text = metricsText(metrics.registry);
  assert.match(
    text,
    /^gateway_requests_total\{.*route="",backend="".*status="404",reason="route_not_found"\} 1$/m,
  );
  assert.doesNotMatch(text, /^gateway_upstream_duration_seconds_count/m);
});

Deno.test("GatewayMetrics describe process and build", () => {
  const { metrics, clock } = createTestMetrics();

  clock.advance(1500);

  const text = metricsText(metrics.registry);
  assert.match(text, /^gateway_build_info\{version="1\.2\.3"\} 1$/m);
  assert.match(text, /^process_start_time_seconds 1767225600$/m);
  assert.match(text, /^gateway_uptime_seconds 1\.5$/m);
  assert.match(text, /^process_cpu_seconds_total [0-9.]+$/m);
  assert.match(text, /^process_resident_memory_bytes [1-9][0-9]+$/m);
  assert.match(text, /^gateway_heap_bytes\{state="used"\} [1-9][0-9]+$/m);
});

Deno.test("addStateMetrics counts open connections", () => {
  const { metrics } = createTestMetrics();

  addStateMetrics(metrics.registry, {
    requestsUnderWay: () => 0,
    certificates: () => [],
    downstream: () => [{ port: 3000, active: 4, accepted: 9 }],
    upstream: () => ({ active: 2, idle: 3, connects: 7 }),
    endpoints: () => [],
    lookups: () => [],
    cooldowns: () => [],
    mcpEndpoints: () => [],
    keySets: () => [],
    localLimits: () => [],
    globalLimiters: () => [],
  });

  const text = metricsText(metrics.registry);
  assert.match(
    text,
    /^gateway_downstream_connections_active\{port="3000"\} 4$/m,
  );
  assert.match(
    text,
    /^gateway_downstream_connections_total\{port="3000"\} 9$/m,
  );
  assert.match(text, /^gateway_upstream_connections\{state="active"\} 2$/m);
  assert.match(text, /^gateway_upstream_connections\{state="idle"\} 3$/m);
  assert.match(text, /^gateway_upstream_connects_total 7$/m);
});

Deno.test("GatewayMetrics print valid Prometheus lines", () => {
  const { metrics } = createTestMetrics();
  metrics.recordRequest({ ...finishedRequest, route: 'a"b\\c' });

  const lines = metricsText(metrics.registry).trimEnd().split("\n");

  const comment =
    /^# (?:HELP [a-z_]+ .+|TYPE [a-z_]+ (?:counter|gauge|histogram))$/;
  const sample =
    /^[a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+\})? (?:[0-9.e+-]+|\+Inf)$/;
  assert.deepEqual(
    lines.filter((line) => !comment.test(line) && !sample.test(line)),
    [],
  );
});

Deno.test("GatewayMetrics count tokens once, those from the cache apart, and time the first one", () => {
  const { metrics } = createTestMetrics();

  metrics.recordRequest({
    ...finishedRequest,
    firstTokenMs: 300,
    usage: {
      ...tokenUsage,
      inputTokens: 100,
      outputTokens: 20,
      cachedInputTokens: 40,
      nanoUsd: 1,
      responseModel: "m",
    },
  });

  const text = metricsText(metrics.registry);
  const of = 'route="mcp",backend="tools",model="m"';
  for (
    const line of [
      `gateway_llm_tokens_total{${of},type="input"} 100`,
      `gateway_llm_tokens_total{${of},type="output"} 20`,
      `gateway_llm_cached_input_tokens_total{${of}} 40`,
      `gateway_llm_time_to_first_token_seconds_bucket{${of},le="0.25"} 0`,
      `gateway_llm_time_to_first_token_seconds_bucket{${of},le="0.5"} 1`,
    ]
  ) assert.ok(text.includes(`\n${line}\n`), line);
  assert.ok(!text.includes('type="cached_input"'));
});
