import { Cluster, type ManagedProxies } from "../../src/cluster/cluster.ts";
import {
  type ClusterAccess,
  ClusterAccessError,
} from "../../src/cluster/client/api_access.ts";
import {
  DELIVERED_NAMESPACE,
  environmentAddresses,
} from "../../src/cluster/source/reserved_addresses.ts";
import {
  findClusterAccess,
  readControllerAccess,
} from "../../src/cluster/client/cluster_access.ts";
import { POLICY_API_GROUP } from "../../src/api/schema/group.ts";
import { isHostPort, parseAddress } from "../../src/api/schema/address.ts";
import { parseDuration } from "../../src/api/schema/duration.ts";
import { systemClock } from "../../src/base/clock.ts";
import { splitHostPort } from "../../src/base/wire/host_port.ts";
import { createLogger } from "../../src/base/log/log.ts";
import type { ReservedAddress } from "../../src/base/wire/egress_rules.ts";
import { parseLogFilter } from "../../src/base/log/log_filter.ts";
import {
  type ConfigurationSource,
  fileSource,
  textSource,
} from "../../src/config/configuration_source.ts";
import type { LoadedConfig } from "../../src/config/loaded_config.ts";
import {
  ConfigurationError,
  loadCandidate,
  schemasOf,
} from "../../src/gateway/candidate/candidate.ts";
import { printError } from "../output/output.ts";
import { exitCodes, UsageError } from "../process/exit.ts";
import { serve } from "../run/serve.ts";

/** Options of `gateway --cluster`. */
export interface ClusterRunOptions {
  /** File with the `config` section. */
  readonly file?: string;
  readonly kubeconfig?: string;
  readonly controllerName: string;
  readonly watchNamespaces?: readonly string[];
  readonly addressPool?: string;
  readonly publishAddress?: readonly string[];
  readonly publishService?: string;
  /** The only gateway to serve. */
  readonly gateway?: string;
  /** File with what was read last. */
  readonly clusterSnapshot?: string;
  /** Runs proxies instead of serving requests. */
  readonly managed?: boolean;
  readonly proxyImage?: string;
  /** Name and port of the controller. */
  readonly controllerAddress?: string;
  /** Folder with the credentials of a proxy. */
  readonly controllerAccess?: string;
}

/** Runs the gateway with the resources of a cluster; returns the exit code after shutdown. */
export async function runCluster(options: ClusterRunOptions): Promise<number> {
  const environment = Deno.env.toObject();
  const settings: ConfigurationSource = options.file === undefined
    ? textSource("config: {}\n")
    : fileSource(options.file);
  try {
    const { loaded } = await loadCandidate(settings, { environment });
    const access = await findAccess(options, environment);
    const proxies = options.managed === true
      ? await describeProxies(options, loaded.settings, settings)
      : undefined;
    let cluster: Cluster | undefined;
    const connect = (write: (line: string) => void) => {
      cluster = createCluster(options, {
        ...{ access, loaded, settings, write, proxies },
      });
      return cluster.source;
    };
    try {
      return await serve(connect, {
        hangup: "reloads",
        opensPorts: options.managed !== true,
        ...(options.gateway === undefined && {
          onApplied: (outcomes) => cluster?.onApplied(outcomes),
          onStarted: ({ gateway: { dataPlane } }) => {
            cluster?.followKeys(async () =>
              (await dataPlane.call("describeState")).keySets
            );
            cluster?.keepKeys((command) => dataPlane.call("keyring", command));
            return Promise.resolve();
          },
        }),
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

/** Returns the access to the API server, or that of a proxy to its controller. @throws {UsageError} @throws {ClusterAccessError} */
async function findAccess(
  { kubeconfig, gateway, controllerAddress, controllerAccess }:
    ClusterRunOptions,
  environment: Readonly<Record<string, string>>,
): Promise<ClusterAccess> {
  if (controllerAccess === undefined) {
    const clock = systemClock;
    return await findClusterAccess({ environment, kubeconfig, clock });
  }
  if (gateway === undefined || controllerAddress === undefined) {
    throw new UsageError(
      "--controller-access needs --gateway and --controller-address",
    );
  }
  return readControllerAccess(controllerAddress, {
    folder: controllerAccess,
    namespace: DELIVERED_NAMESPACE,
    clock: systemClock,
  });
}

function createCluster(
  options: ClusterRunOptions,
  { access, loaded, settings, proxies, write }: {
    readonly access: ClusterAccess;
    readonly loaded: LoadedConfig;
    readonly settings: ConfigurationSource;
    readonly proxies: ManagedProxies | undefined;
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
    reserved: [
      ...environmentAddresses(Deno.env.toObject(), access.server),
      ...controllerHost(options.controllerAddress),
    ],
    identity: `${Deno.hostname()}-${crypto.randomUUID().slice(0, 8)}`,
    proxies,
    gateway: options.gateway,
    isDelivered: options.controllerAccess !== undefined,
    snapshot: options.clusterSnapshot,
    service: options.publishService,
    addressPool: options.addressPool,
  });
}

function controllerHost(address = ""): readonly ReservedAddress[] {
  const parts = splitHostPort(address);
  return parts === undefined ? [] : [{ address: parts.host, of: "gateway" }];
}

/** Time that a pod has beyond lame duck and drain. */
const GRACE_SECONDS = 10;

/** Describes the proxies, which have the settings of this process. @throws {UsageError} */
async function describeProxies(
  { proxyImage, controllerAddress, clusterSnapshot }: ClusterRunOptions,
  { statsAddr, lameDuck, drainTimeout }: LoadedConfig["settings"],
  source: ConfigurationSource,
): Promise<ManagedProxies> {
  if (proxyImage === undefined) {
    throw new UsageError(
      "--managed needs --proxy-image, the image of the proxies",
    );
  }
  if (controllerAddress === undefined || !isHostPort(controllerAddress)) {
    throw new UsageError(
      '--managed needs --controller-address, such as "gateway-controller.gateway-system.svc:15021"',
    );
  }
  if (clusterSnapshot !== undefined) {
    throw new UsageError(
      "--managed cannot have --cluster-snapshot: proxies keep snapshots of their own",
    );
  }
  const address = parseAddress(statsAddr);
  const isProbed = address?.kind === "tcp" &&
    !address.hosts.some((host) => host === "::1" || host.startsWith("127."));
  if (!isProbed) {
    throw new UsageError(
      `--managed: the kubelet probes proxies at the address of the pod; set "config.statsAddr" to "0.0.0.0:15020", got "${statsAddr}"`,
    );
  }
  const texts = await source.read();
  const stopMs = parseDuration(lameDuck) + parseDuration(drainTimeout);
  return {
    hostname: address.hosts[0] ?? "",
    template: {
      controller: controllerAddress,
      image: proxyImage,
      files: Object.fromEntries(
        texts.map(({ name, text }) => [fileName(name), text]),
      ),
      statsPort: address.port,
      terminationSeconds: Math.ceil(stopMs / 1000) + GRACE_SECONDS,
    },
  };
}

function fileName(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return /\.(ya?ml|json)$/.test(name) ? name : "gateway.yaml";
}
