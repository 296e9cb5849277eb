import { systemClock } from "../../src/base/clock.ts";
import { findClusterAccess } from "../../src/cluster/client/cluster_access.ts";
import { KubernetesApi } from "../../src/cluster/client/kubernetes_api.ts";
import type { AdminAddress } from "../client/admin_client.ts";
import { print } from "../output/output.ts";
import { UsageError } from "../process/exit.ts";
import { findGatewayPods, type GatewayPod } from "./gateway_pods.ts";
import { forwardPort } from "./port_forward.ts";

/** Options that select a gateway, on this machine or in a cluster. */
export interface GatewayTarget extends AdminAddress {
  readonly local?: boolean;
  readonly namespace?: string;
  readonly kubeconfig?: string;
}

/** A proxy in a cluster whose admin interface can be reached. */
export interface ReachablePod extends GatewayPod {
  readonly address: AdminAddress;
}

/** Port of the admin interface in pods. */
const ADMIN_PORT = 15000;

/**
 * Reports whether the options select a gateway in a cluster. With its name alone, a gateway on this machine comes first.
 * @throws {UsageError} When they contradict each other.
 */
export async function isInCluster(
  target: GatewayTarget,
  name: string | undefined,
): Promise<boolean> {
  const { local, port, admin, namespace, kubeconfig } = target;
  const isLocal = local === true || port !== undefined || admin !== undefined;
  const isRemote = namespace !== undefined || kubeconfig !== undefined;
  if (isLocal && isRemote) {
    throw new UsageError(
      '"--namespace" and "--kubeconfig" select a cluster, "--local", "--admin-port" and "--admin" this machine',
    );
  }
  if (isRemote && name === undefined) {
    throw new UsageError("Select a gateway of the cluster: gateway/<name>");
  }
  if (name === undefined || isLocal) return false;
  return isRemote || !await isListening(ADMIN_PORT);
}

async function isListening(port: number): Promise<boolean> {
  try {
    using _connection = await Deno.connect({ hostname: "localhost", port });
    return true;
  } catch {
    // Whatever the reason, there is no gateway.
    return false;
  }
}

/** Connects to the cluster of the user. @throws {ClusterAccessError} */
export async function openCluster(
  kubeconfig: string | undefined,
): Promise<KubernetesApi> {
  const access = await findClusterAccess({
    environment: Deno.env.toObject(),
    clock: systemClock,
    kubeconfig,
    startsPrograms: true,
  });
  return new KubernetesApi(access);
}

/** Calls `use` with the proxies of a gateway, forwarding their admin ports meanwhile; only the first, if `first` is true. */
export async function withPods<Result>(
  { namespace, kubeconfig, tokenFile }: GatewayTarget,
  name: string,
  use: (pods: readonly ReachablePod[]) => Promise<Result>,
  { first = false } = {},
): Promise<Result> {
  using api = await openCluster(kubeconfig);
  const found = await findGatewayPods(
    api,
    namespace ?? api.access.namespace,
    name,
  );
  await using forwards = new AsyncDisposableStack();
  const pods: ReachablePod[] = [];
  for (const pod of first ? found.slice(0, 1) : found) {
    const { address } = forwards.use(await forwardPort(api, pod, ADMIN_PORT));
    pods.push({
      ...pod,
      address: { admin: address, tokenFile },
    });
  }
  return await use(pods);
}

/**
 * Runs a command for the gateway on this machine, or for each proxy of one in a cluster, under the name of its pod; only for the
 * first, if `first` is true. Returns the results.
 */
export async function forProxies<Options extends GatewayTarget, Result>(
  options: Options,
  word: string | undefined,
  run: (options: Options) => Promise<Result>,
  which: { readonly first?: boolean } = {},
): Promise<readonly Result[]> {
  const name = gatewayName(word);
  const isRemote = await isInCluster(options, name);
  if (name === undefined || !isRemote) return [await run(options)];
  return await withPods(options, name, async (pods) => {
    const results: Result[] = [];
    for (const { name, address } of pods) {
      if (pods.length > 1) await print(`# ${name}\n`);
      results.push(await run({ ...options, ...address }));
    }
    return results;
  }, which);
}

/** Parses `gateway/<name>`. @throws {UsageError} */
export function gatewayName(word: string | undefined): string | undefined {
  if (word === undefined) return undefined;
  const [, name] = /^gateway\/([^/]+)$/.exec(word) ?? [];
  if (name !== undefined) return name;
  throw new UsageError(`expected gateway/<name>, got "${word}"`);
}
