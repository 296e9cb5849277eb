import { splitHostPort } from "../../base/wire/host_port.ts";
import type { GlobalRateLimit } from "../../policy/rate_limit/rate_limit_schema.ts";
import type { Settings } from "../../api/settings.ts";
import { parseDuration } from "../../api/schema/duration.ts";
import type { Hide } from "../../base/redaction.ts";
import type { PolicyOptions } from "../../policy/contract/policy_kind.ts";
import { budgetsOf } from "../../policy/rate_limit/rate_limit_budget.ts";
import { nameDescriptors } from "../../policy/rate_limit/rate_limit_names.ts";
import type { ServiceAddress } from "../../ratelimit/service/service_address.ts";
import type { GlobalLimit } from "../../ratelimit/limiter/global_limiter.ts";
import type { LimiterPlace } from "../../ratelimit/global_limiters.ts";

/** Returns where the budgets of a `global` block are kept; `undefined` without a store, or for an unusable backend. */
export function limiterPlace(
  { domain, store, timeout }: GlobalRateLimit,
  kv: Settings["kv"],
  connectionOf: PolicyOptions["connectionOf"],
): LimiterPlace | undefined {
  const named = timeout === undefined
    ? { domain }
    : { domain, timeoutMs: parseDuration(timeout) };
  if (store === "KV") {
    const path = kv?.url ?? kv?.path ?? kv?.redis;
    return path === undefined ? undefined : { ...named, kv: path };
  }
  const { host, backendRef } = store.service;
  const service = host === undefined
    ? backendRef && serviceAt(connectionOf(backendRef))
    : plainService(host);
  return service && { ...named, service };
}

function serviceAt(
  connection: ReturnType<PolicyOptions["connectionOf"]>,
): ServiceAddress | undefined {
  if (connection === undefined) return undefined;
  const { host, port, tls } = connection;
  return { host, port, tls };
}

function plainService(text: string): ServiceAddress | undefined {
  const address = splitHostPort(text);
  return address && { ...address, tls: undefined };
}

/** Returns the limits of a `global` block, one per descriptor. */
export function globalLimits(
  global: GlobalRateLimit,
  hide: Hide,
): readonly GlobalLimit[] {
  const names = nameDescriptors(global, hide);
  return budgetsOf(global.descriptors).map((definition, index) => ({
    name: names[index] ?? `descriptor ${index}`,
    definition,
    keys: global.descriptors[index]?.entries.map(({ key }) => key) ?? [],
  }));
}
