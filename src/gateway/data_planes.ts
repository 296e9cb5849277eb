import type { ResourceSet } from "../api/resources/resource_set.ts";
import type { Settings } from "../api/settings.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log/log.ts";
import type { DataPlane } from "../dataplane/data_plane.ts";
import type { ApplyResult } from "../dataplane/apply_result.ts";
import { LocalDataPlane } from "../dataplane/local_data_plane.ts";
import { defaultWorkers } from "../dataplane/granted_resources.ts";
import { loadRequestTelemetry } from "../dataplane/telemetry/request_telemetry.ts";
import type { WorkerPoolOptions } from "../dataplane/workers/worker_pool.ts";
import type { PolicyRegistry } from "../policy/contract/policy_registry.ts";
import { builtInPolicies } from "../policy/registry.ts";
import type { WebUiHandler } from "../proxy/balancing/web_ui_upstream.ts";
import type { GatewayMetrics } from "../telemetry/metrics/gateway_metrics.ts";

/** The program that workers run, and where their log goes. */
type WorkerProgram = Pick<
  WorkerPoolOptions,
  | "entry"
  | "heapMegabytes"
  | "lookMs"
  | "onLost"
  | "writeLog"
  | "writeAccessLog"
>;

/** Options of a gateway that its data plane depends on. */
export interface DataPlaneOptions {
  /** The kinds of policies that the configuration can have; default the built-in ones. */
  readonly policies?: PolicyRegistry;
  /** Receives one line per request; default: discarded. */
  readonly writeAccessLog?: (line: string) => void;
  /** Serves the web UI; without it, gateways respond with 500 where they would show it. */
  readonly webUi?: WebUiHandler;
  /** Enables `config.workers`; without it, and with `policies`, this thread serves all requests. */
  readonly workers?: WorkerProgram;
  /** False: compiles the configuration and carries no traffic. Default true. */
  readonly opensPorts?: boolean;
}

/** Creates a data plane with what the gateway has besides its options. */
export type DataPlaneFactory = (gateway: {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: GatewayMetrics;
}) => DataPlane;

/** Returns the data plane for the settings: in this thread, or in workers, whose code is loaded only for them. */
export async function chooseDataPlane(
  options: DataPlaneOptions,
  settings: Settings,
): Promise<DataPlaneFactory> {
  const { workers: count = defaultWorkers() } = settings;
  const { workers, policies, webUi, opensPorts = true } = options;
  // Functions cannot be passed to another thread.
  const isLocal = workers === undefined || policies !== undefined;
  if (isLocal || count === 1 || !opensPorts) {
    const createTelemetry = await loadRequestTelemetry(settings);
    return (gateway) => createLocal(options, gateway, createTelemetry);
  }
  const { WorkerPool } = await import("../dataplane/workers/worker_pool.ts");
  return (gateway) => new WorkerPool({ ...gateway, webUi, ...workers, count });
}

function createLocal(
  { policies = builtInPolicies, writeAccessLog, webUi, opensPorts }:
    DataPlaneOptions,
  gateway: Parameters<DataPlaneFactory>[0],
  createTelemetry: Awaited<ReturnType<typeof loadRequestTelemetry>>,
): DataPlane {
  return new LocalDataPlane({
    ...gateway,
    policies,
    webUi,
    opensPorts,
    telemetry: createTelemetry({
      ...gateway,
      registry: gateway.metrics.registry,
      random: Math.random,
      writeAccessLog,
    }),
    random: Math.random,
  });
}

/** Applies resources; of those that isolate errors, without the ports that cannot be opened. */
export async function applyUsable(
  dataPlane: DataPlane,
  resources: ResourceSet,
): Promise<ApplyResult> {
  const unusablePorts: NonNullable<ResourceSet["unusablePorts"]>[number][] = [];
  while (true) {
    const result = await dataPlane.apply(
      unusablePorts.length === 0 ? resources : { ...resources, unusablePorts },
    );
    const { applied, port, address, reason = "" } = result;
    const isKnown = unusablePorts.some((each) =>
      each.port === port && each.address === address
    );
    if (
      applied || port === undefined || isKnown || !resources.isolatesErrors
    ) return result;
    unusablePorts.push({
      port,
      reason,
      ...(address !== undefined && { address }),
    });
  }
}
