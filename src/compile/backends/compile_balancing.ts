import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import { formatHostPort } from "../../base/wire/host_port.ts";
import { optionalDuration } from "../../api/schema/duration.ts";
import type { BackendCompilation } from "./backend_compilation.ts";
import {
  type Backend,
  type Balancing,
  defaultBalancing,
  defaultLookups,
  type Ejection,
  type HealthCheck,
  type LookupSettings,
} from "../../snapshot/backend.ts";

const DEFAULT_FIRST_BYTE_MS = 600_000;
const DEFAULT_IDLE_MS = 300_000;
/** LLMs respond late, but another provider may respond sooner than one that hangs. */
const LLM_FAILOVER_MS = 120_000;

/** Compiles the time-outs of a backend; `0s` means unlimited, and the defaults do not apply to streams. */
export function compileTimeouts(
  timeouts: GatewayBackend["spec"]["timeouts"],
  isLlm = false,
): Pick<
  Backend,
  | "firstByteTimeoutMs"
  | "idleTimeoutMs"
  | "streamTimeouts"
  | "failoverAfterMs"
> {
  const firstByteMs = optionalDuration(timeouts?.firstByte);
  const idleMs = optionalDuration(timeouts?.idle);
  return {
    ...(isLlm && firstByteMs === undefined &&
      { failoverAfterMs: LLM_FAILOVER_MS }),
    firstByteTimeoutMs: (firstByteMs ?? DEFAULT_FIRST_BYTE_MS) || undefined,
    idleTimeoutMs: (idleMs ?? DEFAULT_IDLE_MS) || undefined,
    streamTimeouts: {
      firstByteMs: firstByteMs || undefined,
      idleMs: idleMs || undefined,
    },
  };
}

let hashKeys: typeof import("../../policy/http/hash_key.ts") | undefined;

/** Loads the code that `compileBalancing` needs for these backends. */
export async function loadHashKeys(
  backends: readonly GatewayBackend[],
): Promise<void> {
  if (!backends.some(({ spec }) => spec.loadBalancing?.hash)) return;
  hashKeys ??= await import("../../policy/http/hash_key.ts");
}

function compileHash(text: string) {
  if (hashKeys !== undefined) {
    return hashKeys.compileHashKey(text, ["spec", "loadBalancing", "hash"]);
  }
  throw new TypeError("Cannot compile an expression: not loaded");
}

/** Compiles how requests are spread over the endpoints of a backend; `undefined` for the defaults. */
export function compileBalancing(
  compilation: BackendCompilation,
): Balancing | undefined {
  const { loadBalancing, ejection } = compilation.resource.spec;
  if (loadBalancing === undefined && ejection === undefined) return undefined;
  const hashKey = loadBalancing?.hash === undefined
    ? undefined
    : compileHash(loadBalancing.hash);
  if (hashKey !== undefined && !("of" in hashKey)) {
    compilation.error(hashKey);
    return undefined;
  }
  return {
    policy: loadBalancing?.policy ?? defaultBalancing.policy,
    hashHeader: loadBalancing?.hashHeader?.toLowerCase(),
    hashKey,
    sharesSessions: loadBalancing?.mcpSessions === "Shared",
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

const DEFAULT_INTERVAL_MS = 10_000;
const DEFAULT_CHECK_TIMEOUT_MS = 2000;

/** Compiles the checks of endpoints. @param address That of the backend, whose host the requests have by default. */
export function compileHealthCheck(
  settings: GatewayBackend["spec"]["healthCheck"],
  address: Pick<Backend, "host" | "port" | "tls">,
): HealthCheck | undefined {
  return settings && {
    path: settings.path,
    authority: settings.host ?? authorityOf(address),
    intervalMs: optionalDuration(settings.interval) ?? DEFAULT_INTERVAL_MS,
    timeoutMs: optionalDuration(settings.timeout) ?? DEFAULT_CHECK_TIMEOUT_MS,
    unhealthyThreshold: settings.unhealthyThreshold ?? 3,
    healthyThreshold: settings.healthyThreshold ?? 2,
    statuses: settings.expectedStatuses,
  };
}

/** Returns the host of requests to a backend, with its port unless that is implied. */
export function authorityOf(
  { host, port, tls }: Pick<Backend, "host" | "port" | "tls">,
): string {
  const name = typeof tls === "object" ? tls.hostname : host;
  const isUsual = port === (tls === undefined ? 80 : 443);
  return isUsual ? name : formatHostPort(name, port);
}

/** Compiles the look-ups of names. */
export function compileLookups(
  { refresh, timeout }: NonNullable<GatewayBackend["spec"]["dns"]>,
): LookupSettings {
  return {
    refreshMs: optionalDuration(refresh) ?? defaultLookups.refreshMs,
    timeoutMs: optionalDuration(timeout) ?? defaultLookups.timeoutMs,
  };
}
