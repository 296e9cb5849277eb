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
  addDownstreamMetrics(registry, downstream);
  addUpstreamMetrics(registry, upstream);
}

function addDownstreamMetrics(
  registry: MetricRegistry,
  read: ConnectionReadings["downstream"],
): void {
  const ofPorts = (field: "active" | "accepted") => () =>
    read().map(({ port, [field]: value }) => ({
      labels: [String(port)],
      value,
    }));
  registry.computed({
    type: "gauge",
    name: "gateway_downstream_connections_active",
    help: "Connections of clients now open",
    labelNames: ["port"],
    read: ofPorts("active"),
  });
  registry.computed({
    type: "counter",
    name: "gateway_downstream_connections_total",
    help: "Connections accepted from clients",
    labelNames: ["port"],
    read: ofPorts("accepted"),
  });
}

function addUpstreamMetrics(
  registry: MetricRegistry,
  read: ConnectionReadings["upstream"],
): void {
  registry.computed({
    type: "gauge",
    name: "gateway_upstream_connections",
    help: "Connections to upstreams now open",
    labelNames: ["state"],
    read: () => {
      const { active, idle } = read();
      return [
        { labels: ["active"], value: active },
        { labels: ["idle"], value: idle },
      ];
    },
  });
  registry.computed({
    type: "counter",
    name: "gateway_upstream_connects_total",
    help: "Connections opened to upstreams",
    read: () => [{ labels: [], value: read().connects }],
  });
}
