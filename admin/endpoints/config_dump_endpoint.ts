import type { Settings } from "../../src/api/settings.ts";
import { REDACTION_MARKER, redactUrl } from "../../src/base/redaction.ts";
import { largeJson } from "../large_json.ts";
import type { AdminTarget } from "../target.ts";

/** Returns the active configuration as a JSON document without secrets. */
export async function dumpConfig(target: AdminTarget): Promise<Response> {
  const { binds, listeners, routes, backends, policies, ...state } =
    await target.dataPlane.describe();
  const { upstreams } = await target.dataPlane.tasks(0);
  const { hash, appliedAt, lastRejected } = target.status();
  return largeJson({
    binds,
    listeners,
    routes,
    backends,
    endpoints: upstreams,
    // Kinds that exist only in clusters.
    workloads: [],
    services: [],
    policies,
    keySets: state.keySets,
    providerMetadata: state.providerMetadata,
    budgets: state.budgets,
    version: target.version,
    config: redactSettings(target.settings),
    hash,
    appliedAt,
    lastRejected: lastRejected ?? null,
  });
}

function redactSettings(settings: Settings): Settings {
  const { adminToken, kv } = settings;
  return {
    ...settings,
    ...(adminToken !== undefined && { adminToken: REDACTION_MARKER }),
    ...(kv?.url !== undefined &&
      { kv: { ...kv, url: redactUrl(kv.url) } }),
  };
}
