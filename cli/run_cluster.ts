import { Cluster } from "../src/cluster/cluster.ts";
import {
  type ClusterAccess,
  ClusterAccessError,
  findClusterAccess,
} from "../src/cluster/client/cluster_access.ts";
import { POLICY_API_GROUP } from "../src/api/resources/group.ts";
import { systemClock } from "../src/base/clock.ts";
import { createLogger } from "../src/base/log.ts";
import { parseLogFilter } from "../src/base/log_filter.ts";
import {
  type ConfigurationSource,
  fileSource,
  textSource,
} from "../src/config/configuration_source.ts";
import type { LoadedConfig } from "../src/config/loaded_config.ts";
import {
  ConfigurationError,
  loadCandidate,
  schemasOf,
} from "../src/gateway/candidate.ts";
import { printError } from "./output/output.ts";
import { exitCodes } from "./process/exit.ts";
import { serve } from "./serve.ts";

/** Options of `gateway --cluster`. */
export interface ClusterRunOptions {
  /** File with the `config` section. */
  readonly file?: string;
  readonly kubeconfig?: string;
  readonly controllerName: string;
  readonly watchNamespaces?: readonly string[];
  readonly addressPool?: string;
  readonly publishAddress?: readonly string[];
}

/** Runs the gateway with the resources of a cluster; returns the exit code after shutdown. */
export async function runCluster(options: ClusterRunOptions): Promise<number> {
  const environment = Deno.env.toObject();
  const settings: ConfigurationSource = options.file === undefined
    ? textSource("config: {}\n")
    : fileSource(options.file);
  try {
    const { loaded } = await loadCandidate(settings, { environment });
    const access = await findClusterAccess({
      environment,
      clock: systemClock,
      kubeconfig: options.kubeconfig,
    });
    let cluster: Cluster | undefined;
    const connect = (write: (line: string) => void) => {
      cluster = createCluster(options, { access, loaded, settings, write });
      return cluster.source;
    };
    try {
      return await serve(connect, {
        hangup: "reloads",
        onApplied: (outcomes) => cluster?.onApplied(outcomes),
      });
    } finally {
      await cluster?.[Symbol.asyncDispose]();
    }
  } catch (error) {
    if (
      !(error instanceof ConfigurationError ||
        error instanceof ClusterAccessError)
    ) throw error;
    const lineEnd = error instanceof ClusterAccessError ? "\n" : "";
    await printError(error.message + lineEnd);
    return exitCodes.failure;
  }
}

function createCluster(
  options: ClusterRunOptions,
  { access, loaded, settings, write }: {
    readonly access: ClusterAccess;
    readonly loaded: LoadedConfig;
    readonly settings: ConfigurationSource;
    readonly write: (line: string) => void;
  },
): Cluster {
  const { logging, policyApiGroup = POLICY_API_GROUP } = loaded.settings;
  const logger = createLogger({
    write,
    clock: systemClock,
    format: logging.format,
    filter: parseLogFilter(logging.level),
  });
  return new Cluster({
    access,
    settings,
    clock: systemClock,
    log: logger.module("cluster"),
    random: Math.random,
    schemas: schemasOf().kinds,
    policyApiGroup,
    controllerName: options.controllerName,
    namespaces: options.watchNamespaces ?? [],
    addresses: options.publishAddress ?? [],
    identity: `${Deno.hostname()}-${crypto.randomUUID().slice(0, 8)}`,
    ...(options.addressPool !== undefined &&
      { addressPool: options.addressPool }),
  });
}
