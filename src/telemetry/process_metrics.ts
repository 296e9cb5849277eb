import process from "node:process";
import type { Clock } from "../base/clock.ts";
import type { MetricRegistry } from "./metrics.ts";

/** Adds what is known of the process, under the names that dashboards for any process look for. */
export function addProcessMetrics(
  registry: MetricRegistry,
  clock: Clock,
): void {
  const startedAt = clock.now();
  const start = clock.monotonic();
  const one = (value: number) => [{ labels: [], value }];
  registry.computed(
    "gauge",
    "process_start_time_seconds",
    "Start time since the epoch",
    [],
    () => one(startedAt / 1000),
  );
  registry.computed(
    "gauge",
    "gateway_uptime_seconds",
    "Time since the start",
    [],
    () => one((clock.monotonic() - start) / 1000),
  );
  registry.computed(
    "counter",
    "process_cpu_seconds_total",
    "Processor time used",
    [],
    () => {
      const { user, system } = process.cpuUsage();
      return one((user + system) / 1e6);
    },
  );
  registry.computed(
    "gauge",
    "process_resident_memory_bytes",
    "Memory in use",
    [],
    () => one(Deno.memoryUsage().rss),
  );
  registry.computed(
    "gauge",
    "gateway_heap_bytes",
    "Memory of the JavaScript heap",
    ["state"],
    () => {
      const { heapTotal, heapUsed } = Deno.memoryUsage();
      return [{ labels: ["total"], value: heapTotal }, {
        labels: ["used"],
        value: heapUsed,
      }];
    },
  );
}
