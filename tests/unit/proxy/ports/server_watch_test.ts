import assert from "node:assert/strict";
import { metricsText } from "../../../harness/telemetry/metrics_text.ts";
import { GatewayError } from "../../../../src/base/errors.ts";
import { createLogger } from "../../../../src/base/log/log.ts";
import { parseLogFilter } from "../../../../src/base/log/log_filter.ts";
import { ServerWatch } from "../../../../src/proxy/ports/server_watch.ts";
import type { FinishedRequest } from "../../../../src/telemetry/log/finished_request.ts";
import { createGatewayMetrics } from "../../../../src/telemetry/metrics/gateway_metrics.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const peer = { address: "192.0.2.1", port: 5 };

function createWatch(filter = "info") {
  const clock = new FakeClock();
  const lines: string[] = [];
  const records: FinishedRequest[] = [];
  const metrics = createGatewayMetrics({ clock, version: "1" });
  const logger = createLogger({
    write: (line) => lines.push(line.slice(25).trimEnd()),
    clock,
    format: "text",
    filter: parseLogFilter(filter),
  });
  const watch = new ServerWatch({
    port: 3000,
    gateway: () => "default",
    clock,
    log: logger.module("http"),
    metrics,
    record: (request) => records.push(request),
  });
  return { watch, clock, lines, records, metrics };
}

Deno.test("ServerWatch warns of each kind once a second, with the number of dropped warnings", () => {
  const { watch, clock, lines, metrics } = createWatch();
  const failure = { reason: "not_tls", message: "no TLS" } as const;

  for (let i = 0; i < 3; i++) watch.handshakeFailed(peer, failure);
  watch.connectionRejected(peer, "max_connections");
  clock.advance(1000);
  watch.handshakeFailed(undefined, failure);
  clock.advance(1000);
  watch.handshakeFailed(peer, failure);

  assert.deepEqual(lines, [
    'warn\thttp\tTLS handshake failed port=3000 reason=not_tls src.addr=192.0.2.1:5 error="no TLS"',
    "warn\thttp\tConnection rejected port=3000 reason=max_connections src.addr=192.0.2.1:5",
    'warn\thttp\tTLS handshake failed port=3000 reason=not_tls error="no TLS" count=3',
    'warn\thttp\tTLS handshake failed port=3000 reason=not_tls src.addr=192.0.2.1:5 error="no TLS"',
  ]);
  const text = metricsText(metrics.registry);
  assert.match(
    text,
    /^gateway_downstream_handshake_failures_total\{port="3000",reason="not_tls"\} 5$/m,
  );
  assert.match(
    text,
    /^gateway_downstream_connections_rejected_total\{port="3000",reason="max_connections"\} 1$/m,
  );
});

Deno.test("ServerWatch counts clients that send nothing, without a warning", () => {
  const { watch, lines, metrics } = createWatch();

  watch.handshakeFailed(peer, { reason: "client_closed", message: "left" });

  assert.deepEqual(lines, []);
  assert.match(metricsText(metrics.registry), /reason="client_closed"\} 1$/m);
});

Deno.test("ServerWatch logs connections at level debug", () => {
  const quiet = createWatch();
  const chatty = createWatch("info,http=debug");

  for (const { watch } of [quiet, chatty]) {
    watch.connectionOpened(peer, "h2");
    watch.connectionClosed(peer, "idle timeout");
  }

  assert.deepEqual(quiet.lines, []);
  assert.deepEqual(chatty.lines, [
    "debug\thttp\tConnection opened port=3000 src.addr=192.0.2.1:5 protocol=h2",
    'debug\thttp\tConnection closed port=3000 src.addr=192.0.2.1:5 reason="idle timeout"',
  ]);
});

Deno.test("ServerWatch records rejected requests without possible secrets", () => {
  const { watch, records } = createWatch();
  const error = new GatewayError("bad_request", "downstream", "No Host");
  const refused = {
    error,
    source: peer,
    version: "1.1",
    method: "GET",
    authority: "",
    status: 400,
    bytesSent: 11,
  } as const;

  watch.requestRejected({ ...refused, target: "/a?key=1" });
  watch.requestRejected({ ...refused, target: "http://user:pw@a/" });

  assert.deepEqual(
    records.map(({ gateway, port, status, reason, error, path }) => ({
      gateway,
      port,
      status,
      reason,
      error,
      path,
    })),
    ["/a", ""].map((path) => ({
      gateway: "default",
      port: 3000,
      status: 400,
      reason: "bad_request",
      error: "No Host",
      path,
    })),
  );
});
