import { type Clock, inTime } from "../../base/clock.ts";
import { LineWriter } from "../../telemetry/log/line_writer.ts";
import type { MetricRegistry } from "../../telemetry/metrics/metrics.ts";
import type { Channel } from "../state/channel.ts";
import type { ControlCalls, WorkerCalls } from "./protocol.ts";

/** Batches of access log lines are passed on this often. */
const ACCESS_DELAY_MS = 20;
const FLUSH_TIMEOUT_MS = 1000;

/**
 * Passes log lines to the control thread, which alone writes them. Like any `LineWriter`, it drops lines rather than fill the
 * memory when the control thread is too slow.
 */
export class WorkerLogs {
  readonly log: LineWriter;
  readonly access: LineWriter;
  readonly #decoder = new TextDecoder();
  readonly #clock: Clock;
  readonly #control: Channel<ControlCalls, WorkerCalls>;

  constructor(control: Channel<ControlCalls, WorkerCalls>, clock: Clock) {
    this.#control = control;
    this.#clock = clock;
    this.log = this.#writer("writeLog", 0);
    this.access = this.#writer("writeAccessLog", ACCESS_DELAY_MS);
  }

  /** Adds the lines that were dropped to the metric of the control thread. */
  countLosses(registry: MetricRegistry): void {
    registry.computed(
      "counter",
      "gateway_log_lines_dropped_total",
      "Log lines dropped because the output was too slow or failed, such as a full disk",
      ["log"],
      () => [
        [this.log.droppedLines, "log"],
        [this.access.droppedLines, "access"],
      ],
    );
  }

  /** Resolves when the control thread has all lines, or does not take them within a second. */
  async flush(): Promise<void> {
    const flushed = Promise.all([this.log.flush(), this.access.flush()]);
    await inTime(this.#clock, FLUSH_TIMEOUT_MS, flushed);
  }

  #writer(
    name: "writeLog" | "writeAccessLog",
    maxDelayMs: number,
  ): LineWriter {
    return new LineWriter({
      write: async (bytes) => {
        await this.#control.call(name, this.#decoder.decode(bytes));
        return bytes.length;
      },
      clock: this.#clock,
      maxDelayMs,
    });
  }
}
