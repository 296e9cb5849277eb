import type { Settings } from "../src/api/settings.ts";
import { redactionMarker } from "../src/base/redaction.ts";
import { json } from "./respond.ts";
import type { AdminTarget } from "./target.ts";

/** Everything that is in force, as one JSON document without secrets. */
export async function dumpConfig(target: AdminTarget): Promise<Response> {
  const { binds, listeners, routes, backends, policies, keySets, budgets } =
    await target.dataPlane.describe();
  const { hash, appliedAt, lastRejected } = target.status();
  return json({
    binds,
    listeners,
    routes,
    backends,
    // Kinds that come from a cluster; there is none in a standalone configuration.
    workloads: [],
    services: [],
    policies,
    keySets,
    budgets,
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
    ...(adminToken !== undefined && { adminToken: redactionMarker }),
    ...(kv?.url !== undefined &&
      { kv: { ...kv, url: redactUserInfo(kv.url) } }),
  };
}

/** Without the user name and password that a URL may hold. */
function redactUserInfo(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^/?#]*@/i, `$1${redactionMarker}@`);
}
