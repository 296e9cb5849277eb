import type { Clock } from "../../base/clock.ts";
import type { LogRecord } from "../log/access_log.ts";
import type { MetricRegistry } from "../metrics/metrics.ts";
import type { Span } from "../spans/span.ts";
import { Delivery, type DropReason } from "./delivery/delivery.ts";
import type { CollectorLog } from "./delivery/collector_log.ts";
import type { Collector, Signal } from "./delivery/export_result.ts";
import { createEnvelope, type Origin } from "./messages/attributes_message.ts";
import { encodeLogRecord } from "./messages/log_message.ts";
import { encodeSpan } from "./messages/span_message.ts";

/** Dependencies of an exporter. */
export interface OtlpExporterOptions {
  readonly collector: Collector;
  readonly origin: Origin;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: CollectorLog;
  readonly registry: MetricRegistry;
}

/** Sends spans and logs to a collector. Adding a record never waits and never fails; what is lost is counted. */
export class OtlpExporter {
  readonly #options: OtlpExporterOptions;
  readonly #spans: Delivery;
  readonly #logs: Delivery;
  readonly #counters: ReturnType<typeof countersOf>;
  readonly #envelope: (records: readonly Uint8Array[]) => Uint8Array;

  constructor(options: OtlpExporterOptions) {
    this.#options = options;
    this.#envelope = createEnvelope(options.origin);
    this.#counters = countersOf(options.registry);
    this.#spans = this.#createDelivery("traces");
    this.#logs = this.#createDelivery("logs");
  }

  /** Exports a span that has ended. */
  readonly exportSpan = (span: Span): void => {
    this.#spans.add(encodeSpan(span));
  };

  /** Exports a record of the access log. */
  readonly exportLog = (record: LogRecord): void => {
    this.#logs.add(encodeLogRecord(record, this.#options.clock.now()));
  };

  /** Exports what is queued, and drops what is not sent within `timeoutMs`. */
  async close(timeoutMs: number): Promise<void> {
    await Promise.all([
      this.#spans.close(timeoutMs),
      this.#logs.close(timeoutMs),
    ]);
    this.#options.collector.close();
  }

  #createDelivery(signal: Signal): Delivery {
    const { clock, random, collector, log } = this.#options;
    const { exported, dropped } = this.#counters;
    return new Delivery({
      clock,
      random,
      send: (records) => collector.export(signal, this.#envelope(records)),
      onExported: (records) => exported.labels(signal).inc(records),
      onDropped: (reason: DropReason, records) =>
        dropped.labels(signal, reason).inc(records),
      onAttempt: (error) => log.note(signal, error),
    });
  }
}

function countersOf(registry: MetricRegistry) {
  return {
    exported: registry.counter(
      "gateway_otlp_exported_total",
      "Spans and log records that the OpenTelemetry collector has accepted",
      ["signal"],
    ),
    dropped: registry.counter(
      "gateway_otlp_dropped_total",
      "Spans and log records dropped, by reason: the queue was full, or the collector rejected them or was unavailable",
      ["signal", "reason"],
    ),
  };
}
