import type { Outcomes } from "../compile/outcomes.ts";
import type { ClusterAccess } from "./client/cluster_access.ts";
import { KubernetesApi } from "./client/kubernetes_api.ts";
import { runElection } from "./client/leader_election.ts";
import { parseAddressPool } from "./source/address_pool.ts";
import {
  ClusterSource,
  type ClusterSourceOptions,
} from "./source/cluster_source.ts";
import { StatusController } from "./status/status_controller.ts";

/** Settings of the cluster mode. */
export interface ClusterOptions
  extends Omit<ClusterSourceOptions, "api" | "addressPool"> {
  readonly access: ClusterAccess;
  /** Such as `10.245.0.0/16`: each gateway gets an address of its own. */
  readonly addressPool?: string;
  /** Addresses that gateways without their own publish. */
  readonly addresses: readonly string[];
  /** Unique among the replicas, such as the name of the pod. */
  readonly identity: string;
}

/** Connects a gateway to a cluster: resources in, statuses out. */
export class Cluster implements AsyncDisposable {
  readonly source: ClusterSource;
  readonly #api: KubernetesApi;
  readonly #status: StatusController;
  readonly #stop = new AbortController();
  readonly #election: Promise<void>;
  #writing: Promise<void> = Promise.resolve();

  /** @throws {TypeError} When `addressPool` is invalid. */
  constructor(options: ClusterOptions) {
    const { addressPool, access, ...rest } = options;
    this.#api = new KubernetesApi(access);
    this.source = new ClusterSource({
      ...rest,
      api: this.#api,
      ...(addressPool !== undefined &&
        { addressPool: parseAddressPool(addressPool) }),
    });
    this.#status = new StatusController({
      ...rest,
      api: this.#api,
      source: this.source,
    });
    this.#election = runElection({
      ...rest,
      api: this.#api,
      namespace: access.namespace,
      name: leaseName(options.controllerName),
      lead: (signal) => {
        const ended = AbortSignal.any([signal, this.#stop.signal]);
        this.#writing = this.#status.run(ended);
      },
    }, this.#stop.signal);
  }

  /** Takes note of a configuration that is in force, so that the leader writes its statuses. */
  onApplied(outcomes: Outcomes): void {
    this.#status.onApplied(outcomes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#writing;
    await this.#election;
    this.#api[Symbol.dispose]();
  }
}

/** Controllers of one name share a Lease: `example.com/gateway` → `example.com-gateway`. */
function leaseName(controllerName: string): string {
  return controllerName.toLowerCase().replaceAll(/[^a-z0-9.-]/g, "-");
}
