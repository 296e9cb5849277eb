import process from "node:process";
import type { Clock } from "../../base/clock.ts";
import type { MetricRegistry, Reading } from "./metrics.ts";

/** Adds metrics of the process, under the names that common dashboards use. */
export function addProcessMetrics(
  registry: MetricRegistry,
  clock: Clock,
): void {
  const startedAt = clock.now();
  const start = clock.monotonic();
  registry.computed({
    type: "gauge",
    name: "process_start_time_seconds",
    help: "Start time since the epoch",
    read: () => one(startedAt / 1000),
  });
  registry.computed({
    type: "gauge",
    name: "gateway_uptime_seconds",
    help: "Time since the start",
    read: () => one((clock.monotonic() - start) / 1000),
  });
  registry.computed({
    type: "counter",
    name: "process_cpu_seconds_total",
    help: "Processor time used",
    read: () => {
      const { user, system } = process.cpuUsage();
      return one((user + system) / 1e6);
    },
  });
  addMemoryMetrics(registry);
}

function addMemoryMetrics(registry: MetricRegistry): void {
  registry.computed({
    type: "gauge",
    name: "process_resident_memory_bytes",
    help: "Memory in use",
    read: () => one(Deno.memoryUsage().rss),
  });
  registry.computed({
    type: "gauge",
    name: "gateway_heap_bytes",
    help: "Memory of the JavaScript heap",
    labelNames: ["state"],
    read: () => {
      const { heapTotal, heapUsed } = Deno.memoryUsage();
      return [
        { labels: ["total"], value: heapTotal },
        { labels: ["used"], value: heapUsed },
      ];
    },
  });
}

/** Returns the reading of a metric without labels. */
function one(value: number): readonly Reading[] {
  return [{ labels: [], value }];
}
