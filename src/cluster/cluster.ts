import type { Outcomes } from "../compile/outcomes/outcomes.ts";
import type { ClusterAccess } from "./client/api_access.ts";
import { KubernetesApi } from "./client/kubernetes_api.ts";
import {
  type KubernetesObject,
  objectKey,
} from "./client/kubernetes_object.ts";
import { runElection } from "./client/leader_election.ts";
import { KeyController, type RunKeyCommand } from "./keys/key_controller.ts";
import { ProxyDelivery } from "./delivery/proxy_delivery.ts";
import { ProxyController } from "./infrastructure/proxy_controller.ts";
import { controllerId } from "./infrastructure/proxy_objects.ts";
import type { ProxyTemplate } from "./infrastructure/proxy_pod.ts";
import {
  serviceAddresses,
  type StatusAddress,
} from "./status/service_addresses.ts";
import { parseAddressPool } from "./source/address_pool.ts";
import {
  ClusterSource,
  type ClusterSourceOptions,
} from "./source/cluster_source.ts";
import { StatusController } from "./status/status_controller.ts";

/** Settings of the cluster mode. */
export interface ClusterOptions
  extends Omit<ClusterSourceOptions, "api" | "addressPool" | "isManaged"> {
  readonly access: ClusterAccess;
  /** Such as `10.245.0.0/16`: each gateway gets an address of its own. */
  readonly addressPool?: string | undefined;
  /** Addresses that gateways without their own publish. */
  readonly addresses: readonly string[];
  /** Service whose addresses they publish, as `namespace/name`. */
  readonly service?: string | undefined;
  /** Runs proxies for each gateway. */
  readonly proxies?: ManagedProxies | undefined;
  /** Unique among the replicas, such as the name of the pod. */
  readonly identity: string;
}

/** Proxies that the leader runs. */
export interface ManagedProxies {
  /** Parts of the template that the command line and the settings give. */
  readonly template: Pick<
    ProxyTemplate,
    "image" | "files" | "statsPort" | "terminationSeconds" | "controller"
  >;
  /** Address that the controller serves them on. */
  readonly hostname: string;
}

/** Connects a gateway to a cluster: resources in, statuses out. */
export class Cluster implements AsyncDisposable {
  readonly source: ClusterSource;
  readonly #api: KubernetesApi;
  readonly #options: ClusterOptions;
  readonly #status: StatusController;
  readonly #delivery: ProxyDelivery | undefined;
  readonly #proxies: ProxyController | undefined;
  readonly #keys: KeyController;
  readonly #keyStore = Promise.withResolvers<RunKeyCommand | undefined>();
  readonly #stop = new AbortController();
  readonly #election: Promise<void>;
  #writing: Promise<unknown> = Promise.resolve();
  #following: Promise<void> = Promise.resolve();

  /** @throws {TypeError} When `addressPool` is invalid. */
  constructor(options: ClusterOptions) {
    const { addressPool, access, ...rest } = options;
    this.#options = options;
    this.#api = new KubernetesApi(access);
    this.source = new ClusterSource({
      ...rest,
      api: this.#api,
      isManaged: options.proxies !== undefined || options.gateway !== undefined,
      addressPool: addressPool === undefined
        ? undefined
        : parseAddressPool(addressPool),
      onStatusChange: () => this.#status.onStatusChange(),
      onChange: () => this.#delivery?.onChange(),
    });
    this.#delivery = options.proxies && this.#deliver(options.proxies);
    this.#proxies = options.proxies && this.#manage(options.proxies);
    this.#status = new StatusController({
      ...rest,
      api: this.#api,
      source: this.source,
      addressesOf: (gateway) => this.#addressesOf(gateway),
      conditionsOf: (gateway) => this.#proxies?.conditionsOf(gateway) ?? [],
    });
    this.#keys = new KeyController({
      ...options,
      api: this.#api,
      namespace: access.namespace,
    });
    this.#election = options.gateway === undefined
      ? this.#takePart()
      : Promise.resolve();
  }

  #takePart(): Promise<void> {
    return runElection({
      ...this.#options,
      api: this.#api,
      namespace: this.#options.access.namespace,
      name: controllerId(this.#options.controllerName),
      lead: (signal) => {
        const ended = AbortSignal.any([signal, this.#stop.signal]);
        this.#writing = Promise.all([
          this.#status.run(ended),
          this.#proxies?.run(ended),
          this.#runKeys(ended),
        ]);
      },
    }, this.#stop.signal);
  }

  async #runKeys(ended: AbortSignal): Promise<void> {
    const run = await this.#keyStore.promise;
    if (run !== undefined) await this.#keys.run(run, ended);
  }

  #deliver({ template, hostname }: ManagedProxies): ProxyDelivery {
    const { access: { namespace }, controllerName } = this.#options;
    const delivery = new ProxyDelivery({
      ...this.#options,
      ...{ namespace, hostname, controllerName },
      api: this.#api,
      source: this.source,
      controller: template.controller,
    });
    void delivery.run(this.#stop.signal);
    return delivery;
  }

  #manage({ template }: ManagedProxies): ProxyController {
    const { access: { namespace }, controllerName } = this.#options;
    return new ProxyController({
      ...this.#options,
      api: this.#api,
      source: this.source,
      template: {
        ...template,
        ...{ namespace, controllerName },
        managedBy: controllerId(controllerName),
      },
      certificate: this.#delivery?.certificate ?? Promise.resolve(undefined),
      onChange: () => this.#status.refresh(),
    });
  }

  #addressesOf(gateway: KubernetesObject): readonly StatusAddress[] {
    if (this.#proxies !== undefined) return this.#proxies.addressesOf(gateway);
    const { addresses, service } = this.#options;
    if (service === undefined) {
      return addresses.map((value) => ({ type: "IPAddress", value }));
    }
    const services = [...this.source.cache.objects("Service")];
    return serviceAddresses(
      services.find((each) => objectKey(each) === service),
    );
  }

  /** Takes note of a configuration that is in force, so that the leader writes its statuses. */
  onApplied(outcomes: Outcomes): void {
    this.#status.onApplied(outcomes);
    this.#proxies?.onApplied(outcomes);
  }

  /** Writes the state of the keys of policies into their statuses; `read` returns it. */
  followKeys(read: () => Promise<readonly unknown[]>): void {
    this.#following = this.#status.followKeys(read, this.#stop.signal);
  }

  /** Makes keys, users and teams of the cluster objects of a store, while this process leads. */
  keepKeys(run: RunKeyCommand): void {
    this.#keyStore.resolve(run);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#keyStore.resolve(undefined);
    await this.#writing;
    await this.#following;
    await this.#election;
    await this.#delivery?.ended;
    this.#api[Symbol.dispose]();
  }
}
