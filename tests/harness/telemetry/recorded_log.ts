import type { Log, LogFields } from "../../../src/base/log/log.ts";
import type { LogLevel } from "../../../src/base/log/log_filter.ts";

/** A log that records all messages. */
export class RecordedLog implements Log {
  /** The lines, such as `warn text {"a":1}`. */
  readonly lines: string[] = [];
  readonly #messages: (readonly [LogLevel, string])[] = [];

  error(message: string, fields?: LogFields): void {
    this.#write("error", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#write("warn", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#write("info", message, fields);
  }

  debug(message: string, fields?: LogFields): void {
    this.#write("debug", message, fields);
  }

  trace(message: string, fields?: LogFields): void {
    this.#write("trace", message, fields);
  }

  isEnabled(): boolean {
    return true;
  }

  /** Returns the messages of the given levels, without fields. */
  messages(...levels: readonly LogLevel[]): readonly string[] {
    return this.#messages.filter(([level]) => levels.includes(level))
      .map(([, message]) => message);
  }

  #write(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
    this.#messages.push([level, message]);
  }
}

/** A log of which nobody reads anything. */
export const discardLog: Log = {
  error() {},
  warn() {},
  info() {},
  debug() {},
  trace() {},
  isEnabled: () => false,
};
