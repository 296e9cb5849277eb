import type { DataPlane } from "../../../src/dataplane/data_plane.ts";
import type { UsageSum } from "../../../src/telemetry/traffic/summed_usage.ts";

/** Reads who used what by key, model and route, of the hours from `from` on. */
export function usageRows(
  dataPlane: DataPlane,
  from = Date.now() - 3_600_000,
): Promise<readonly UsageSum[]> {
  const by = ["key", "model", "route"] as const;
  return dataPlane.call("usage", { by, from, until: Infinity });
}
