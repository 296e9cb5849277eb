import { type AdminAddress, callAdmin } from "../admin_client.ts";
import { UsageError } from "../exit.ts";
import { logModules } from "../log_modules.ts";
import { print } from "../output.ts";

/** What to change; without anything, the levels are shown. */
export interface ControlLogOptions extends AdminAddress {
  readonly level?: string;
  /** Such as `["proxy=debug"]`. */
  readonly set: readonly string[];
  readonly reset?: boolean;
}

/**
 * Changes the log levels of a running gateway, then prints the ones in force.
 * @throws {UsageError} For a module that there is not: its level would change nothing.
 */
export async function controlLog(
  { level, set, reset, ...address }: ControlLogOptions,
): Promise<void> {
  const levels = [...(level === undefined ? [] : [level]), ...set];
  if (levels.length === 0 && reset !== true) {
    await print(await callAdmin(address, "GET", "/logging"));
    return;
  }
  requireModules(set);
  const query = new URLSearchParams();
  if (reset === true) query.set("reset", "");
  if (levels.length > 0) query.set("level", levels.join(","));
  await print(await callAdmin(address, "POST", `/logging?${query}`));
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
