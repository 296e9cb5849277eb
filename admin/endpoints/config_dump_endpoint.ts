import { json, text } from "../http/admin_responses.ts";
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

/** Returns the outline of the active configuration, which the web UI lists: routes may be thousands. */
export async function showConfig(target: AdminTarget): Promise<Response> {
  const outline = await target.dataPlane.call("outline");
  const { upstreams } = await target.dataPlane.call("tasks", 0);
  return largeJson({ ...outline, endpoints: upstreams }, true);
}

/** Returns a route, or a policy with the resource that it comes from. */
export async function showConfigPart(
  { dataPlane }: AdminTarget,
  { url }: Request,
): Promise<Response> {
  const { searchParams } = new URL(url);
  const route = searchParams.get("route");
  const kind = searchParams.get("kind") ?? "";
  const source = searchParams.get("source") ?? "";
  const part = await dataPlane.call(
    "describePart",
    route === null ? { kind, source } : { route },
  );
  return part === undefined ? text(404, "not found") : json(part);
}
