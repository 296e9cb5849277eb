import { type Clock, inTime } from "../../src/base/clock.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import { LineWriter } from "../../src/telemetry/log/line_writer.ts";
import { shortAccessLines, shortLogLines } from "./access_line.ts";
import { canDraw } from "./terminal.ts";

const FLUSH_TIMEOUT_MS = 1000;

/** Writes the log to standard error and the access log to standard output, with short times and lines if that is a terminal. */
export class LogOutput implements AsyncDisposable {
  readonly #log: LineWriter;
  readonly #access: LineWriter;
  readonly #clock: Clock;
  readonly #shorten: (lines: string) => string;
  readonly #shortenLog: (lines: string) => string;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#log = new LineWriter({
      write: (bytes) => Deno.stderr.write(bytes),
      clock,
      maxDelayMs: 0,
    });
    const hasColor = canDraw() && !Deno.noColor;
    this.#shorten = Deno.stdout.isTerminal()
      ? (lines) => shortAccessLines(lines, hasColor)
      : (lines) => lines;
    this.#shortenLog = Deno.stderr.isTerminal()
      ? (lines) => shortLogLines(lines, hasColor)
      : (lines) => lines;
    this.#access = new LineWriter({
      write: (bytes) => Deno.stdout.write(bytes),
      clock,
      maxDelayMs: 100,
    });
  }

  /** Writes a line of the log. */
  writeLog(line: string): void {
    this.#log.write(this.#shortenLog(line));
  }

  /** Writes lines of the log once there is room for them. */
  writeLogBatch(lines: string): Promise<void> {
    return this.#log.writeBatch(this.#shortenLog(lines));
  }

  /** Writes a line of the access log. */
  writeAccess(line: string): void {
    this.#access.write(this.#shorten(line));
  }

  /** Writes lines of the access log once there is room for them. */
  writeAccessBatch(lines: string): Promise<void> {
    return this.#access.writeBatch(this.#shorten(lines));
  }

  /** Describes the buffered lines for `/memory`. */
  stores() {
    return this.#writers().map(([scope, { waiting }]) => ({
      name: "logLines",
      scope,
      unit: "characters",
      ...waiting,
    }));
  }

  /** Reports lost lines in the metrics and the log of the gateway. */
  reportLossesTo(gateway: Gateway): void {
    gateway.metrics.registry.computed(
      "counter",
      "gateway_log_lines_dropped_total",
      "Log lines dropped because the output was too slow or failed, such as a full disk",
      ["log"],
      () =>
        this.#writers().map(([name, { droppedLines }]) => [droppedLines, name]),
    );
    // Losses of the log itself cannot be logged.
    this.#access.onLoss((error) =>
      gateway.log("process").warn("Access log is losing lines", { error })
    );
  }

  /** Flushes; waits only briefly for a reader that does not read. */
  async [Symbol.asyncDispose](): Promise<void> {
    const flushed = this.#writers().map(([, writer]) => writer.flush());
    await inTime(this.#clock, FLUSH_TIMEOUT_MS, Promise.all(flushed));
  }

  #writers(): readonly (readonly [name: string, writer: LineWriter])[] {
    return [["log", this.#log], ["access", this.#access]];
  }
}
