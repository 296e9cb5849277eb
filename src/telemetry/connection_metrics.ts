import type { MetricRegistry } from "./metrics.ts";

/** Connections that are open, and how many were opened since the start. */
export interface ConnectionReadings {
  readonly downstream: () => readonly {
    readonly port: number;
    readonly active: number;
    readonly accepted: number;
  }[];
  readonly upstream: () => {
    readonly active: number;
    readonly idle: number;
    readonly connects: number;
  };
}

/** The connections, counted where they are kept. */
export function addConnectionMetrics(
  registry: MetricRegistry,
  { downstream, upstream }: ConnectionReadings,
): void {
  registry.computed(
    "gauge",
    "gateway_downstream_connections_active",
    "Connections of clients now open",
    ["port"],
    () =>
      downstream().map(({ port, active }) => ({
        labels: [String(port)],
        value: active,
      })),
  );
  registry.computed(
    "counter",
    "gateway_downstream_connections_total",
    "Connections accepted from clients",
    ["port"],
    () =>
      downstream().map(({ port, accepted }) => ({
        labels: [String(port)],
        value: accepted,
      })),
  );
  registry.computed(
    "gauge",
    "gateway_upstream_connections",
    "Connections to upstreams now open",
    ["state"],
    () => {
      const { active, idle } = upstream();
      return [
        { labels: ["active"], value: active },
        { labels: ["idle"], value: idle },
      ];
    },
  );
  registry.computed(
    "counter",
    "gateway_upstream_connects_total",
    "Connections opened to upstreams",
    [],
    () => [{ labels: [], value: upstream().connects }],
  );
}
