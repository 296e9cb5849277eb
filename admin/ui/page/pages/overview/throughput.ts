/** Turns counters into rates. */
import { createRate, parseMetrics, sumOf } from "../../server/metrics_text.ts";

/** Figures of the overview; rates are per second, `null` until two samples are known. */
export interface Throughput {
  readonly uptime: number;
  readonly requests: number | null;
  readonly clientErrors: number | null;
  readonly serverErrors: number | null;
  readonly bytesSent: number | null;
  readonly totalRequests: number;
  readonly clientConnections: number;
  readonly upstreamConnections: number;
  readonly memory: number;
  readonly cpuSeconds: number;
}

/** Computes rates of counters between two readings. */
export class Recorder {
  readonly #rates = {
    requests: createRate(),
    clientErrors: createRate(),
    serverErrors: createRate(),
    bytesSent: createRate(),
  };

  /** Adds a response of `metrics`. */
  add(text: string): Throughput {
    const samples = parseMetrics(text);
    const sum = (name: string) => sumOf(samples, name);
    const uptime = sum("gateway_uptime_seconds");
    const requestsOf = (digit: string) =>
      sumOf(
        samples,
        "gateway_requests_total",
        ({ status = "" }) => status.startsWith(digit),
      );
    const rate = (
      name: "requests" | "clientErrors" | "serverErrors" | "bytesSent",
      value: number,
    ) => this.#rates[name](value, uptime) ?? null;
    const totalRequests = sum("gateway_requests_total");
    return {
      uptime,
      requests: rate("requests", totalRequests),
      clientErrors: rate("clientErrors", requestsOf("4")),
      serverErrors: rate("serverErrors", requestsOf("5")),
      bytesSent: rate("bytesSent", sum("gateway_response_bytes_total")),
      totalRequests,
      clientConnections: sum("gateway_downstream_connections_active"),
      upstreamConnections: sum("gateway_upstream_connections"),
      memory: sum("process_resident_memory_bytes"),
      cpuSeconds: sum("process_cpu_seconds_total"),
    };
  }
}
