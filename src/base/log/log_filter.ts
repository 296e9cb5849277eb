/** Severities of log lines, most severe first. */
export const logLevels = ["error", "warn", "info", "debug", "trace"] as const;

/** Modules with their own log level. */
export const logModules: readonly string[] = [
  "admin",
  "cluster",
  "gateway",
  "http",
  "identity",
  "mcp",
  "otlp",
  "policy",
  "process",
  "proxy",
  "ratelimit",
  "request",
];

/** Reports whether a module writes log lines: one of the list, or a part of one, such as `proxy.retry`. */
export function isLogModule(name: string): boolean {
  const [module = ""] = name.split(".");
  return logModules.includes(module);
}

/** Severity of a log line. */
export type LogLevel = typeof logLevels[number];

/** Least severe level that is written; `off` writes nothing. */
export type LogThreshold = LogLevel | "off";

/** Selects log lines: a default threshold and thresholds per module. */
export interface LogFilter {
  readonly level: LogThreshold;
  /** Thresholds by module name; `proxy` also applies to `proxy.retry` unless that has its own. */
  readonly modules: ReadonlyMap<string, LogThreshold>;
}

/** The filter when none is configured. */
export const defaultLogFilter: LogFilter = {
  level: "info",
  modules: new Map(),
};

/** An invalid filter string; `part` is the invalid part. */
export class LogFilterError extends Error {
  override readonly name = "LogFilterError";

  constructor(readonly part: string, expected: string) {
    super(
      `Invalid log filter: expected ${expected}, got ${JSON.stringify(part)}`,
    );
  }
}

const moduleName = /^[A-Za-z0-9_][A-Za-z0-9_./-]{0,63}$/;
const MAX_MODULES = 100;

/**
 * Applies a string such as `info,proxy=debug,http=off` to `base`; modules that it does not name keep their threshold.
 * `module:level` is accepted too.
 *
 * @throws {LogFilterError}
 */
export function parseLogFilter(
  text: string,
  base = defaultLogFilter,
): LogFilter {
  let level = base.level;
  const modules = new Map(base.modules);
  for (const part of text.split(",").map((each) => each.trim())) {
    const [, name, threshold] = /^(.*)[=:](.*)$/.exec(part) ?? [];
    if (name === undefined) {
      level = toThreshold(part, part);
      continue;
    }
    if (!moduleName.test(name.trim())) {
      throw new LogFilterError(part, "a module name before the level");
    }
    modules.set(name.trim(), toThreshold(threshold ?? "", part));
  }
  if (modules.size > MAX_MODULES) {
    throw new LogFilterError(text, `at most ${MAX_MODULES} modules`);
  }
  return { level, modules };
}

/** Formats a filter canonically: the default level, then the modules sorted by name. */
export function formatLogFilter({ level, modules }: LogFilter): string {
  const parts = [...modules].map(([name, threshold]) => `${name}=${threshold}`);
  return [level, ...parts.sort()].join(",");
}

/** Returns the threshold of a module: its own, else that of the nearest parent module, else the default. */
export function thresholdFor(filter: LogFilter, module: string): LogThreshold {
  for (
    let name = module;
    name !== "";
    name = name.slice(0, Math.max(0, name.lastIndexOf(".")))
  ) {
    const threshold = filter.modules.get(name);
    if (threshold !== undefined) return threshold;
  }
  return filter.level;
}

function toThreshold(text: string, part: string): LogThreshold {
  const word = text.trim().toLowerCase();
  const known = ["off" as const, ...logLevels].find((each) => each === word);
  if (known === undefined) {
    throw new LogFilterError(
      part,
      `a level (off, ${logLevels.join(", ")}) or "<module>=<level>"`,
    );
  }
  return known;
}
