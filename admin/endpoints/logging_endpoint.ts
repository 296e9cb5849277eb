import {
  formatLogFilter,
  LogFilterError,
  logLevels,
  parseLogFilter,
} from "../../src/base/log_filter.ts";
import { escapeControls } from "../../src/base/log_text.ts";
import { requireKnown } from "../query_numbers.ts";
import { text } from "../admin_responses.ts";
import type { AdminTarget } from "../target.ts";

const USAGE = `usage:
  GET  /logging                            shows the log filter
  POST /logging?level=<level>              sets the level of all modules without one of their own
  POST /logging?level=<module>=<level>     sets the level of one module
  POST /logging?level=<level>,<module>=<level>,...
  POST /logging?reset[&level=...]          forgets what was set and returns to the configured filter first
levels: off, ${logLevels.join(", ")}`;

/** Says which log filter is in force. */
export function showLogFilter(target: AdminTarget, request: Request): Response {
  const { searchParams } = new URL(request.url);
  if (searchParams.size > 0) {
    return text(400, `Reading the log level takes no parameters\n${USAGE}`);
  }
  return current(target);
}

/**
 * Changes the log filter, keeping what is not named, and says which one is in force then.
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
    for (const level of levels) filter = parseLogFilter(level, filter);
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

function current(target: AdminTarget): Response {
  return text(200, `current log level is ${target.logFilter()}`);
}
