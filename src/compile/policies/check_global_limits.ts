import type { GatewayPolicy } from "../../api/resources/gateway_policy.ts";
import type { GlobalRateLimit } from "../../api/policies/rate_limit_schema.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { Settings } from "../../api/settings.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import { suggestBackend } from "../routes/compile_backends.ts";
import type { Report } from "../report.ts";

/** What global limits need besides their policy. */
interface CheckContext {
  readonly backends: ReadonlyMap<string, Backend>;
  readonly kv: Settings["kv"];
  readonly report: Report;
}

/** Reports global limits that nobody keeps: their policies would refuse every request. */
export function checkGlobalLimits(
  { gatewayPolicies }: ResourceSet,
  context: CheckContext,
): void {
  for (const policy of gatewayPolicies) {
    const store = policy.spec.traffic?.rateLimit?.global?.store;
    if (store === "KV") checkStore(policy, context);
    else if (store !== undefined) checkService(policy, store, context);
  }
}

const path = ["spec", "traffic", "rateLimit", "global", "store"];

function checkStore(
  policy: GatewayPolicy,
  { kv, report }: CheckContext,
): void {
  if (kv !== undefined) return;
  const message =
    'Cannot share limits: expected a store in "config.kv", such as {path: limits.db}, there at the start of the process';
  report.error(policy, { path, message });
}

function checkService(
  policy: GatewayPolicy,
  { service }: Exclude<GlobalRateLimit["store"], "KV">,
  { backends, report }: CheckContext,
): void {
  const ref = service.backendRef;
  if (ref === undefined) return;
  const key = `${ref.namespace ?? policy.metadata.namespace}/${ref.name}`;
  const backend = backends.get(key);
  const at = [...path, "service", "backendRef", "name"];
  if (backend === undefined) {
    const message = `Cannot find backend "${key}"`;
    const suggestion = suggestBackend(ref.name, backends, report);
    report.error(policy, { path: at, message, suggestion });
  } else if (backend.protocol === "http1") {
    const message =
      `Cannot ask backend "${key}" for limits: a rate limit service speaks HTTP/2`;
    report.error(policy, { path: at, message });
  }
}
