import { type AdminAddress, callAdmin } from "../admin_client.ts";
import { print } from "../output.ts";

/** What to change; without anything, the levels are shown. */
export interface ControlLogOptions extends AdminAddress {
  readonly level?: string;
  /** Such as `["proxy=debug"]`. */
  readonly set: readonly string[];
  readonly reset?: boolean;
}

/** Changes the log levels of a running gateway, then prints the ones in force. */
export async function controlLog(
  { level, set, reset, ...address }: ControlLogOptions,
): Promise<void> {
  const levels = [...(level === undefined ? [] : [level]), ...set];
  if (levels.length === 0 && reset !== true) {
    await print(await callAdmin(address, "GET", "/logging"));
    return;
  }
  const query = new URLSearchParams();
  if (reset === true) query.set("reset", "");
  if (levels.length > 0) query.set("level", levels.join(","));
  await print(await callAdmin(address, "POST", `/logging?${query}`));
}
