import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import { optionalDuration } from "../../api/schema/duration.ts";
import {
  type Balancing,
  defaultBalancing,
  type Ejection,
} from "../../snapshot/snapshot.ts";

/** Compiles how requests are spread over the endpoints of a backend; `undefined` for the defaults. */
export function compileBalancing(
  { loadBalancing, ejection }: GatewayBackend["spec"],
): Balancing | undefined {
  if (loadBalancing === undefined && ejection === undefined) return undefined;
  return {
    policy: loadBalancing?.policy ?? defaultBalancing.policy,
    slowStartMs: optionalDuration(loadBalancing?.slowStart) ?? 0,
    ejection: compileEjection(ejection),
  };
}

function compileEjection(
  settings: GatewayBackend["spec"]["ejection"] = {},
): Ejection {
  const { ejection } = defaultBalancing;
  const { connectFailures, errors, latency, time, maxTime } = settings;
  const baseMs = optionalDuration(time) ?? ejection.baseMs;
  return {
    connectFailures: (connectFailures ?? ejection.connectFailures) || Infinity,
    errors: (errors ?? ejection.errors) || Infinity,
    latencyMs: optionalDuration(latency),
    baseMs,
    maxMs: Math.max(baseMs, optionalDuration(maxTime) ?? ejection.maxMs),
    maxPercent: settings.maxPercent ?? ejection.maxPercent,
  };
}
