import {
  formatLogFilter,
  isLogModule,
  LogFilterError,
  logLevels,
  logModules,
  parseLogFilter,
} from "../../src/base/log/log_filter.ts";
import { escapeControls } from "../../src/base/log/log_text.ts";
import { InvalidParameter, requireKnown } from "../http/query_parameters.ts";
import { text } from "../http/admin_responses.ts";
import type { AdminTarget } from "../target/target.ts";

const USAGE = `usage:
  GET  /logging                            shows the log filter
  POST /logging?level=<level>              sets the default level
  POST /logging?level=<module>=<level>     sets the level of a module
  POST /logging?level=<level>,<module>=<level>,...
  POST /logging?reset[&level=...]          resets to the configured filter first
levels: off, ${logLevels.join(", ")}`;

/** Returns the active log filter. */
export function showLogFilter(target: AdminTarget, request: Request): Response {
  const { searchParams } = new URL(request.url);
  if (searchParams.size > 0) {
    return text(400, `GET /logging has no parameters\n${USAGE}`);
  }
  return current(target);
}

/**
 * Changes the log filter for the given modules and returns the new filter.
 * @throws {InvalidParameter}
 */
export async function changeLogFilter(
  target: AdminTarget,
  request: Request,
): Promise<Response> {
  const { searchParams } = new URL(request.url);
  requireKnown(searchParams, ["level", "reset"], USAGE);
  const levels = searchParams.getAll("level");
  const isReset = searchParams.has("reset");
  try {
    let filter = parseLogFilter(
      isReset ? target.settings.logging.level : target.logFilter(),
    );
    for (const level of levels) {
      requireModules(level);
      filter = parseLogFilter(level, filter);
    }
    if (isReset || levels.length > 0) {
      await target.setLogFilter(formatLogFilter(filter));
    }
  } catch (error) {
    if (!(error instanceof LogFilterError)) throw error;
    return text(
      400,
      `Invalid level provided: ${escapeControls(error.part)}\n${USAGE}`,
    );
  }
  return current(target);
}

function requireModules(level: string): void {
  const { modules } = parseLogFilter(level);
  const unknown = modules.keys().find((name) => !isLogModule(name));
  if (unknown === undefined) return;
  const known = logModules.join(", ");
  throw new InvalidParameter(
    `Unknown module: ${unknown}; expected one of ${known}\n${USAGE}`,
  );
}

function current(target: AdminTarget): Response {
  return text(200, `current log level is ${target.logFilter()}`);
}
