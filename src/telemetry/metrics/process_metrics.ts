import process from "node:process";
import type { Clock } from "../../base/clock.ts";
import type { MetricRegistry } from "./metrics.ts";

/** Adds metrics of the process, under the names that common dashboards use. */
export function addProcessMetrics(
  registry: MetricRegistry,
  clock: Clock,
): void {
  const startedAt = clock.now();
  const start = clock.monotonic();
  registry.computed(
    "gauge",
    "process_start_time_seconds",
    "Start time since the epoch",
    [],
    () => [[startedAt / 1000]],
  );
  registry.computed(
    "gauge",
    "gateway_uptime_seconds",
    "Time since the start",
    [],
    () => [[(clock.monotonic() - start) / 1000]],
  );
  registry.computed(
    "counter",
    "process_cpu_seconds_total",
    "Processor time used",
    [],
    () => {
      const { user, system } = process.cpuUsage();
      return [[(user + system) / 1e6]];
    },
  );
  registry.computed(
    "gauge",
    "process_resident_memory_bytes",
    "Memory in use",
    [],
    () => [[Deno.memoryUsage().rss]],
  );
}

/** Adds the memory of the JavaScript heap of this thread. */
export function addHeapMetrics(registry: MetricRegistry): void {
  registry.computed(
    "gauge",
    "gateway_heap_bytes",
    "Memory of the JavaScript heap",
    ["state"],
    () => {
      const { heapTotal, heapUsed } = Deno.memoryUsage();
      return [
        [heapTotal, "total"],
        [heapUsed, "used"],
      ];
    },
  );
}
