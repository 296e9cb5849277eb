import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import { optionalDuration } from "../../api/schema/duration.ts";
import {
  type Backend,
  type Balancing,
  defaultBalancing,
  type Ejection,
} from "../../snapshot/snapshot.ts";

const DEFAULT_FIRST_BYTE_MS = 600_000;
const DEFAULT_IDLE_MS = 300_000;

/** Compiles the time-outs of a backend; `0s` means unlimited, and the defaults do not apply to streams. */
export function compileTimeouts(
  timeouts: GatewayBackend["spec"]["timeouts"],
): Pick<Backend, "firstByteTimeoutMs" | "idleTimeoutMs" | "streamTimeouts"> {
  const firstByteMs = optionalDuration(timeouts?.firstByte);
  const idleMs = optionalDuration(timeouts?.idle);
  return {
    firstByteTimeoutMs: (firstByteMs ?? DEFAULT_FIRST_BYTE_MS) || undefined,
    idleTimeoutMs: (idleMs ?? DEFAULT_IDLE_MS) || undefined,
    streamTimeouts: {
      firstByteMs: firstByteMs || undefined,
      idleMs: idleMs || undefined,
    },
  };
}

/** Compiles how requests are spread over the endpoints of a backend; `undefined` for the defaults. */
export function compileBalancing(
  { loadBalancing, ejection }: GatewayBackend["spec"],
): Balancing | undefined {
  if (loadBalancing === undefined && ejection === undefined) return undefined;
  return {
    policy: loadBalancing?.policy ?? defaultBalancing.policy,
    hashHeader: loadBalancing?.hashHeader?.toLowerCase(),
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
