import type { Clock } from "../clock.ts";
import { describeError } from "../errors.ts";
import {
  type LogFilter,
  type LogLevel,
  logLevels,
  thresholdFor,
} from "./log_filter.ts";
import {
  escapeControls,
  formatField,
  formatTime,
  type LogFormat,
  quote,
} from "./log_text.ts";

/** Fields of a log line. An `Error` is written with its causes, `undefined` is omitted. Never pass a secret. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The log of one module. */
export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  trace(message: string, fields?: LogFields): void;
  /** Guards messages that are expensive to create. */
  isEnabled(level: LogLevel): boolean;
}

/** Destination, format and initial filter of a log. */
export interface LoggerOptions {
  /** Receives one line, including its line break. */
  readonly write: (line: string) => void;
  readonly clock: Clock;
  readonly format: LogFormat;
  readonly filter: LogFilter;
}

/** The log of the process. The filter can be changed at run time. */
export interface Logger {
  /** Returns the log of a module, always the same for one name. */
  module(name: string): Log;
  readonly filter: LogFilter;
  setFilter(filter: LogFilter): void;
}

/** Creates the log of a process. */
export function createLogger(options: LoggerOptions): Logger {
  const modules = new Map<string, ModuleLog>();
  let filter = options.filter;
  return {
    module(name) {
      const existing = modules.get(name);
      if (existing !== undefined) return existing;
      const log = new ModuleLog(name, options, filter);
      modules.set(name, log);
      return log;
    },
    get filter() {
      return filter;
    },
    setFilter(next) {
      filter = next;
      for (const log of modules.values()) log.applyFilter(filter);
    },
  };
}

class ModuleLog implements Log {
  readonly #name: string;
  readonly #options: LoggerOptions;
  /** Levels below this index in `logLevels` are written. */
  #enabled = 0;

  constructor(name: string, options: LoggerOptions, filter: LogFilter) {
    this.#name = name;
    this.#options = options;
    this.applyFilter(filter);
  }

  applyFilter(filter: LogFilter): void {
    const threshold = thresholdFor(filter, this.#name);
    this.#enabled = threshold === "off" ? 0 : logLevels.indexOf(threshold) + 1;
  }

  isEnabled(level: LogLevel): boolean {
    return logLevels.indexOf(level) < this.#enabled;
  }

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

  #write(level: LogLevel, message: string, fields: LogFields = {}): void {
    if (!this.isEnabled(level)) return;
    const { write, clock, format } = this.#options;
    const time = formatTime(clock.now());
    const values = Object.entries(fields).flatMap(([key, value]) =>
      toScalars(key, value)
    );
    write(
      format === "json"
        ? toJsonLine({ level, time, scope: this.#name, message }, values)
        : toTextLine([time, level, this.#name, message], values),
    );
  }
}

type Scalar = string | number | boolean;

function toTextLine(
  columns: readonly string[],
  values: readonly (readonly [string, Scalar])[],
): string {
  const head = columns.map(escapeControls).join("\t");
  return head + values.map(([key, value]) => formatField(key, value)).join("") +
    "\n";
}

function toJsonLine(
  head: Readonly<Record<string, string>>,
  values: readonly (readonly [string, Scalar])[],
): string {
  const pairs = [...Object.entries(head), ...values].map(([key, value]) =>
    `${quote(key)}:${
      typeof value === "string" ? quote(value) : JSON.stringify(value)
    }`
  );
  return `{${pairs.join(",")}}\n`;
}

/** Returns the members of an object as fields of their own: `user.subject`. */
function toScalars(key: string, value: unknown): (readonly [string, Scalar])[] {
  if (value === undefined) return [];
  return isPlainObject(value)
    ? Object.entries(value).flatMap(([name, member]) =>
      toScalars(`${key}.${name}`, member)
    )
    : [[key, toScalar(value)]];
}

function isPlainObject(value: unknown): value is object {
  return typeof value === "object" && value !== null &&
    Object.getPrototypeOf(value) === Object.prototype;
}

function toScalar(value: unknown): Scalar {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value;
    case "object":
      return value instanceof Error
        ? describeError(value)
        : JSON.stringify(value);
    default:
      return String(value);
  }
}
