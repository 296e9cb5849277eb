/** How bad, or how chatty, a log line is; from the one that matters most. */
export const logLevels = ["error", "warn", "info", "debug", "trace"] as const;

/** See `logLevels`. */
export type LogLevel = typeof logLevels[number];

/** The chattiest level that is written; `off` writes nothing. */
export type LogThreshold = LogLevel | "off";

/** Which log lines are written: a threshold for all modules and exceptions by module. */
export interface LogFilter {
  readonly level: LogThreshold;
  /** `proxy` is also for `proxy.retry`, which may have a threshold of its own. */
  readonly modules: ReadonlyMap<string, LogThreshold>;
}

/** What a logger starts with. */
export const defaultLogFilter: LogFilter = {
  level: "info",
  modules: new Map(),
};

/** A filter text that cannot be read; `part` is the piece at fault. */
export class LogFilterError extends Error {
  override readonly name = "LogFilterError";

  constructor(readonly part: string, expected: string) {
    super(
      `Cannot read log filter: expected ${expected}, got ${
        JSON.stringify(part)
      }`,
    );
  }
}

const moduleName = /^[A-Za-z0-9_][A-Za-z0-9_./-]{0,63}$/;
const MAX_MODULES = 100;

/**
 * Applies a text such as `info,proxy=debug,http=off` to `base`: what it does not name stays. `module:level` is read too.
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

/** The one text of a filter: the level, then the modules by name. */
export function formatLogFilter({ level, modules }: LogFilter): string {
  const parts = [...modules].map(([name, threshold]) => `${name}=${threshold}`);
  return [level, ...parts.sort()].join(",");
}

/** The threshold of a module: its own, else that of the nearest module around it, else the general one. */
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
