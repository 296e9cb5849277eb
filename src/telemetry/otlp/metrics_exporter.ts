import { type Clock, inTime } from "../../base/clock.ts";
import type { MetricReading } from "../metrics/metrics.ts";
import type { CollectorLog } from "./delivery/collector_log.ts";
import type { Collector } from "./delivery/export_result.ts";
import { createEnvelope, type Origin } from "./messages/attributes_message.ts";
import { encodeMetric } from "./messages/metric_message.ts";

/** Dependencies of the export of metrics. */
export interface MetricsExporterOptions {
  readonly collector: Collector;
  readonly origin: Origin;
  readonly clock: Clock;
  readonly log: CollectorLog;
  readonly intervalMs: number;
  /** Reads all metrics. */
  readonly read: () => Promise<readonly MetricReading[]>;
}

/** Exports all metrics at intervals. An export that fails is not repeated: the next one has its totals too. */
export class MetricsExporter {
  readonly #options: MetricsExporterOptions;
  readonly #envelope: (records: readonly Uint8Array[]) => Uint8Array;
  readonly #startedAt: number;
  #cancelTimer: () => void;
  #isClosed = false;

  /** Exports for the first time after one interval. */
  constructor(options: MetricsExporterOptions) {
    this.#options = options;
    this.#envelope = createEnvelope(options.origin);
    this.#startedAt = options.clock.now();
    this.#cancelTimer = this.#wait();
  }

  /** Exports once more, for at most `timeoutMs`. */
  async close(timeoutMs: number): Promise<void> {
    const { clock, collector } = this.#options;
    this.#isClosed = true;
    this.#cancelTimer();
    await inTime(clock, timeoutMs, this.#export());
    collector.close();
  }

  #wait(): () => void {
    const { clock, intervalMs } = this.#options;
    return clock.setTimer(() => {
      void this.#export().then(() => {
        if (!this.#isClosed) this.#cancelTimer = this.#wait();
      });
    }, intervalMs);
  }

  /** Never rejects. */
  async #export(): Promise<void> {
    const { collector, clock, log, read } = this.#options;
    try {
      const metrics = await read();
      const times = { startedAt: this.#startedAt, now: clock.now() };
      const records = metrics.filter(({ samples }) => samples.length > 0)
        .map((metric) => encodeMetric(metric, times));
      const result = await collector.export("metrics", this.#envelope(records));
      log.note(
        "metrics",
        result.kind === "accepted" ? undefined : result.error,
      );
    } catch (error) {
      log.note("metrics", error);
    }
  }
}
