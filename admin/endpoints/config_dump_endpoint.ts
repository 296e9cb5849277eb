import { largeJson } from "../http/large_json.ts";
import type { AdminTarget } from "../target/target.ts";

/** Returns the active configuration as a JSON document without secrets. */
export async function dumpConfig(target: AdminTarget): Promise<Response> {
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
  });
}

/** Returns the part of the active configuration that the web UI shows: routes and policies may be thousands. */
export async function showConfig(target: AdminTarget): Promise<Response> {
  const { listeners, routes, backends, policies } = await target.dataPlane.call(
    "describe",
  );
  const { upstreams } = await target.dataPlane.call("tasks", 0);
  return largeJson({
    listeners: listeners.map(({ routes, ...listener }) => ({
      ...listener,
      routes: routes.length,
    })),
    routes,
    backends,
    endpoints: upstreams,
    // Listeners and routes have their values.
    policies: policies.map(({ key, targetRefs, phase }) => ({
      key,
      targetRefs,
      phase,
    })),
  }, true);
}
