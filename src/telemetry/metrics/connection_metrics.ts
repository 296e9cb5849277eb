import type { MetricRegistry } from "./metrics.ts";

/** Reads the connections: open now, and opened since the start. */
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

/** Adds the metrics of connections, read at each collection. */
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
    help: "Open downstream connections",
    labelNames: ["port"],
    read: ofPorts("active"),
  });
  registry.computed({
    type: "counter",
    name: "gateway_downstream_connections_total",
    help: "Downstream connections accepted",
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
    help: "Open upstream connections",
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
    help: "Upstream connections opened",
    read: () => [{ labels: [], value: read().connects }],
  });
}
