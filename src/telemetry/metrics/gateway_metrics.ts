import type { Clock } from "../../base/clock.ts";
import type { FinishedRequest } from "../log/finished_request.ts";
import { MetricRegistry } from "./metrics.ts";
import { addProcessMetrics } from "./process_metrics.ts";
import { RequestMetrics } from "./request_metrics.ts";

/** What the metrics tell of the process itself. */
export interface MetricsEnvironment {
  readonly clock: Clock;
  readonly version: string;
}

/** Every metric of the gateway. */
export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;

/** The metrics, all at zero; `collect()` of the registry is what `/metrics` answers. */
export function createGatewayMetrics({ clock, version }: MetricsEnvironment) {
  const registry = new MetricRegistry();
  const requests = new RequestMetrics(registry);
  const metrics = {
    registry,
    /** Counts a finished request in every metric that it concerns. */
    recordRequest: (request: FinishedRequest) => requests.record(request),
    handshakeFailures: registry.counter(
      "gateway_downstream_handshake_failures_total",
      "TLS handshakes with clients that failed",
      ["port", "reason"],
    ),
    rejectedConnections: registry.counter(
      "gateway_downstream_connections_rejected_total",
      "Connections of clients turned away",
      ["port", "reason"],
    ),
    mirrorFailures: registry.counter(
      "gateway_mirror_failures_total",
      "Copies of requests that did not reach their mirror",
      ["backend"],
    ),
    configReloads: registry.counter(
      "gateway_config_reloads_total",
      "Configurations applied or rejected, the first included",
      ["result"],
    ),
    configSynchronized: registry.gauge(
      "gateway_config_synchronized",
      "1 while the configuration in force is the latest one given, 0 after a rejected one",
    ).labels(),
  };
  registry.gauge("gateway_build_info", "Version of the gateway; always 1", [
    "version",
  ]).labels(version).set(1);
  addProcessMetrics(registry, clock);
  return metrics;
}
