/** Turns counters into rates, and remembers them for the chart. */
import { createRate, parseMetrics, sumOf } from "../../server/metrics_text.ts";

/** Seconds that the chart shows. */
export const SPAN_SECONDS = 120;

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
  /** Seconds since 1970 of each point of the curve. */
  readonly times: readonly number[];
  readonly curve: Readonly<
    Record<
      "requests" | "clientErrors" | "serverErrors",
      readonly (number | null)[]
    >
  >;
}

interface Point {
  readonly time: number;
  readonly requests: number | null;
  readonly clientErrors: number | null;
  readonly serverErrors: number | null;
}

/** Remembers the rates of the last two minutes. */
export class Recorder {
  readonly #rates = {
    requests: createRate(),
    clientErrors: createRate(),
    serverErrors: createRate(),
    bytesSent: createRate(),
  };
  readonly #now: () => number;
  #points: readonly Point[] = [];

  /** @param now Milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

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
    const requests = rate("requests", totalRequests);
    const clientErrors = rate("clientErrors", requestsOf("4"));
    const serverErrors = rate("serverErrors", requestsOf("5"));
    const time = this.#now() / 1000;
    if (requests !== null) {
      this.#remember({ time, requests, clientErrors, serverErrors });
    }
    const points = this.#points;
    return {
      uptime,
      requests,
      clientErrors,
      serverErrors,
      bytesSent: rate("bytesSent", sum("gateway_response_bytes_total")),
      totalRequests,
      clientConnections: sum("gateway_downstream_connections_active"),
      upstreamConnections: sum("gateway_upstream_connections"),
      memory: sum("process_resident_memory_bytes"),
      cpuSeconds: sum("process_cpu_seconds_total"),
      times: points.map((point) => point.time),
      curve: {
        requests: points.map((point) => point.requests),
        clientErrors: points.map((point) => point.clientErrors),
        serverErrors: points.map((point) => point.serverErrors),
      },
    };
  }

  #remember(point: Point): void {
    const oldest = point.time - SPAN_SECONDS;
    this.#points = [
      ...this.#points.filter(({ time }) => time >= oldest),
      point,
    ];
  }
}
