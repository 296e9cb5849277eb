import {
  type AdminAddress,
  askAdmin,
  nameOf,
  stranger,
} from "../client/admin_client.ts";
import { UsageError } from "../process/exit.ts";
import { logModules } from "../log_modules.ts";
import { print } from "../output/output.ts";

/** What to change; without anything, the levels are shown. */
export interface ControlLogOptions extends AdminAddress {
  readonly level?: string;
  /** Such as `["proxy=debug"]`. */
  readonly set?: readonly string[];
  readonly reset?: boolean;
}

/**
 * Changes the log levels of a running gateway, then prints the ones in force.
 * @throws {UsageError} For a module that there is not: its level would change nothing.
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
  const question = { method, pathAndQuery, type: "text/plain" };
  const answer = new TextDecoder().decode(await askAdmin(address, question));
  const [, filter] = /^current log level is ([!-~]+)\n$/.exec(answer) ?? [];
  if (filter === undefined) {
    throw stranger(nameOf(address), "it tells no log level");
  }
  await print(`current log level is ${filter}\n`);
}

function requireModules(set: readonly string[]): void {
  for (const text of set) {
    const [name = ""] = text.split(/[=:]/);
    const [module = ""] = name.trim().split(".");
    if (logModules.includes(module)) continue;
    throw new UsageError(
      `Cannot set the level of a module: expected one of ${
        logModules.join(", ")
      }, got "${name}"`,
    );
  }
}
