import {
  type AdminAddress,
  nameOf,
  requestAdmin,
  unexpectedResponse,
} from "../client/admin_client.ts";
import { UsageError } from "../process/exit.ts";
import { isLogModule, logModules } from "../../src/base/log/log_filter.ts";
import { print } from "../output/output.ts";

/** Changes to the log levels; without changes, the levels are shown. */
export interface ControlLogOptions extends AdminAddress {
  readonly level?: string;
  /** Levels of modules, such as `["proxy=debug"]`. */
  readonly set?: readonly string[];
  readonly reset?: boolean;
}

/**
 * Changes the log levels of a running gateway, then prints the active ones.
 * @throws {UsageError} For an unknown module, whose level would have no effect.
 */
export async function controlLog(
  { level, set = [], reset, ...address }: ControlLogOptions,
): Promise<void> {
  const levels = [...(level === undefined ? [] : [level]), ...set];
  if (levels.length === 0 && reset !== true) {
    return await show(address, "GET", "/logging");
  }
  requireModules(set);
  const query = new URLSearchParams();
  if (reset === true) query.set("reset", "");
  if (levels.length > 0) query.set("level", levels.join(","));
  await show(address, "POST", `/logging?${query}`);
}

async function show(
  address: AdminAddress,
  method: "GET" | "POST",
  pathAndQuery: string,
): Promise<void> {
  const query = { method, pathAndQuery, type: "text/plain" };
  const text = new TextDecoder().decode(await requestAdmin(address, query));
  const [, filter] = /^current log level is ([!-~]+)\n$/.exec(text) ?? [];
  if (filter === undefined) {
    throw unexpectedResponse(nameOf(address), "it has no log level");
  }
  await print(`current log level is ${filter}\n`);
}

function requireModules(set: readonly string[]): void {
  for (const text of set) {
    const [name = ""] = text.split(/[=:]/);
    if (isLogModule(name.trim())) continue;
    throw new UsageError(
      `Cannot set the level of a module: expected one of ${
        logModules.join(", ")
      }, got "${name}"`,
    );
  }
}
