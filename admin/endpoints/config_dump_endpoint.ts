import { largeJson } from "../http/large_json.ts";
import type { AdminTarget } from "../target/target.ts";

/**
 * Returns the active configuration as a JSON document without secrets.
 * @param isCompact See `largeJson`.
 */
export async function dumpConfig(
  target: AdminTarget,
  isCompact = false,
): Promise<Response> {
  const { binds, listeners, routes, backends, policies, ...state } =
    await target.dataPlane.call("describe");
  const { upstreams, lookups, cooldowns } = await target.dataPlane.call(
    "tasks",
    0,
  );
  const { hash, appliedAt, lastRejected } = target.status();
  return largeJson({
    binds,
    listeners,
    routes,
    backends,
    endpoints: upstreams,
    lookups,
    cooldowns,
    // Kinds that exist only in clusters.
    workloads: [],
    services: [],
    policies,
    keySets: state.keySets,
    providerMetadata: state.providerMetadata,
    budgets: state.budgets,
    version: target.version,
    config: target.shownSettings,
    hash,
    appliedAt,
    lastRejected: lastRejected ?? null,
  }, isCompact);
}
