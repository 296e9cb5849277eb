import { type Clock, pause } from "../../base/clock.ts";
import { objectAt, valueAt } from "../../base/json.ts";
import type { Log } from "../../base/log/log.ts";
import { WakeUp } from "../client/wake_up.ts";
import {
  type Condition,
  conditionNo,
} from "../../compile/outcomes/conditions.ts";
import type { Outcomes } from "../../compile/outcomes/outcomes.ts";
import { Informer } from "../client/informer.ts";
import type { KubernetesApi } from "../client/kubernetes_api.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";
import type { ClusterSource } from "../source/cluster_source.ts";
import { isStored } from "../status/stored_conditions.ts";
import {
  MANAGED_BY_LABEL,
  portsOf,
  proxyName,
  proxyObjects,
  reservedLabelsOf,
} from "./proxy_objects.ts";
import type { ProxyTemplate } from "./proxy_pod.ts";
import {
  ParametersError,
  type ProxyParameters,
  readParameters,
} from "./proxy_parameters.ts";
import {
  serviceAddresses,
  type StatusAddress,
} from "../status/service_addresses.ts";

/** Dependencies of managing proxies. */
export interface ProxyControllerOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly source: ClusterSource;
  readonly template: ProxyTemplate;
  /** Certificate of the controller (PEM), by which proxies know it; `undefined` when this process stops before it is there. */
  readonly certificate: Promise<string | undefined>;
  /** Called when addresses or conditions of gateways may have changed. */
  readonly onChange: () => void;
}

const RETRY_MS = 1000;

/** Kinds of the objects that run proxies: path of the group and version, and plural. */
const KINDS = {
  ServiceAccount: ["/api/v1", "serviceaccounts"],
  ConfigMap: ["/api/v1", "configmaps"],
  Service: ["/api/v1", "services"],
  Deployment: ["/apis/apps/v1", "deployments"],
  PodDisruptionBudget: ["/apis/policy/v1", "poddisruptionbudgets"],
} as const;

/** Runs proxies for each gateway, while this process leads. */
export class ProxyController {
  readonly #options: ProxyControllerOptions;
  readonly #informers: ReadonlyMap<string, Informer>;
  readonly #wakeUp = new WakeUp();
  #certificate: string | undefined;
  #changes = 0;
  #listenerSets: Outcomes["listenerSets"] = [];
  /** Gateways that are accepted, as `namespace/name`. */
  #accepted: ReadonlySet<string> = new Set();

  constructor(options: ProxyControllerOptions) {
    this.#options = options;
    this.#informers = new Map(
      Object.keys(KINDS).map((kind) => [kind, this.#createInformer(kind)]),
    );
  }

  /** Takes note of gateways that are in force. */
  onApplied({ gateways, listenerSets }: Outcomes): void {
    this.#listenerSets = listenerSets;
    this.#accepted = new Set(
      gateways.filter(isAccepted).map(({ name }) => name),
    );
    this.#refresh();
  }

  #refresh(): void {
    this.#changes++;
    this.#wakeUp.wake();
  }

  /** Returns the addresses of a gateway's Service. */
  addressesOf(gateway: KubernetesObject): readonly StatusAddress[] {
    return serviceAddresses(this.#find("Service", gateway));
  }

  /** Returns what is wrong with the proxies of a gateway, as conditions that replace others. */
  conditionsOf(gateway: KubernetesObject): readonly Condition[] {
    const parameters = this.#parametersOf(gateway);
    if (parameters instanceof ParametersError) {
      return [
        conditionNo("Accepted", "InvalidParameters", parameters.message),
      ];
    }
    const { availableReplicas = 0 } = objectAt(
      this.#find("Deployment", gateway),
      "status",
    );
    if (Number(availableReplicas) === 0) {
      return [conditionNo("Programmed", "Pending", "No proxy is available")];
    }
    if (this.addressesOf(gateway).length > 0) return [];
    return [
      conditionNo(
        "Programmed",
        "AddressNotAssigned",
        "The Service of the proxies has no address yet",
      ),
    ];
  }

  /** Creates, updates and deletes proxies until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#certificate = await this.#options.certificate;
    const informers = [...this.#informers.values()];
    const following = informers.map((informer) => informer.run(signal));
    while (!signal.aborted) {
      const seen = this.#changes;
      if (informers.every(({ hasSynced }) => hasSynced)) {
        if (!await this.#reconcile(signal)) {
          await pause(this.#options.clock, RETRY_MS, signal);
          continue;
        }
      }
      if (this.#changes === seen) await this.#wakeUp.wait(signal);
    }
    await Promise.all(following);
  }

  #createInformer(kind: string): Informer {
    const { template, log } = this.#options;
    return new Informer({
      ...this.#options,
      path: collectionOf(kind, template.namespace),
      labelSelector: `${MANAGED_BY_LABEL}=${template.managedBy}`,
      onChange: () => {
        this.#refresh();
        this.#options.onChange();
      },
      onSync: () => this.#refresh(),
      onError: (error) => {
        if (error !== undefined) log.warn("Cannot read", { kind, error });
      },
    });
  }

  #find(kind: string, gateway: KubernetesObject): KubernetesObject | undefined {
    const { namespace } = this.#options.template;
    return this.#informers.get(kind)?.items.get(
      `${namespace}/${proxyName(gateway)}`,
    );
  }

  #parametersOf(gateway: KubernetesObject): ProxyParameters | ParametersError {
    const { cache } = this.#options.source;
    try {
      const [reserved] = reservedLabelsOf(gateway);
      if (reserved !== undefined) {
        throw new ParametersError(
          `infrastructure.labels: "${reserved}" is reserved, as Kubernetes and this controller select pods by it`,
        );
      }
      return readParameters(
        gateway,
        this.#classOf(gateway),
        cache.objects("ConfigMap"),
      );
    } catch (error) {
      if (error instanceof ParametersError) return error;
      throw error;
    }
  }

  #classOf(gateway: KubernetesObject): KubernetesObject | undefined {
    const name = valueAt(gateway, "spec", "gatewayClassName");
    return this.#options.source.taken?.classes.find(({ metadata }) =>
      metadata.name === name
    );
  }

  /** Returns false if something has to be attempted again. */
  async #reconcile(signal: AbortSignal): Promise<boolean> {
    const gateways = this.#options.source.taken?.gateways;
    if (gateways === undefined) return true;
    const wanted = gateways.flatMap((gateway) => this.#objectsOf(gateway));
    let isComplete = true;
    for (const object of wanted) {
      if (signal.aborted) return true;
      if (!await this.#apply(object, signal)) isComplete = false;
    }
    const owners = new Set(gateways.map(proxyName));
    for (const [kind, informer] of this.#informers) {
      for (const { metadata } of [...informer.items.values()]) {
        if (owners.has(metadata.name)) continue;
        if (!await this.#delete(kind, metadata.name, signal)) {
          isComplete = false;
        }
      }
    }
    return isComplete;
  }

  /** Returns the objects of a gateway; none while it is not accepted or its parameters are invalid, so that what runs stays. */
  #objectsOf(gateway: KubernetesObject): readonly KubernetesObject[] {
    const gatewayClass = this.#classOf(gateway);
    const parameters = this.#parametersOf(gateway);
    const certificate = this.#certificate;
    if (
      gatewayClass === undefined || certificate === undefined ||
      !this.#accepted.has(objectKey(gateway)) ||
      parameters instanceof ParametersError
    ) return [];
    const { template } = this.#options;
    const ports = this.#portsOfSets(objectKey(gateway));
    return proxyObjects(gateway, {
      ...{ gatewayClass, parameters, template, ports, certificate },
    });
  }

  /** Returns the ports of listener sets that the gateway accepts. */
  #portsOfSets(gateway: string): readonly number[] {
    const accepted = new Set(
      this.#listenerSets.filter((set) =>
        set.gateway === gateway && isAccepted(set)
      ).map(({ name }) => name),
    );
    const sets = this.#options.source.taken?.listenerSets ?? [];
    return sets.filter((each) => accepted.has(objectKey(each))).flatMap(
      portsOf,
    );
  }

  async #apply(
    object: KubernetesObject,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { api, template, log } = this.#options;
    const kind = String(object.kind);
    const stored = this.#informers.get(kind)?.items.get(objectKey(object));
    const { apiVersion: _, kind: __, ...fields } = object;
    if (stored !== undefined && isStored(stored, fields)) return true;
    const path = `${
      collectionOf(kind, template.namespace)
    }/${object.metadata.name}`;
    try {
      await api.apply(path, template.managedBy, object);
      log.info(stored === undefined ? "Created" : "Updated", {
        kind,
        resource: objectKey(object),
      });
      return true;
    } catch (error) {
      if (signal.aborted) return true;
      log.warn("Cannot apply", { kind, resource: objectKey(object), error });
      return false;
    }
  }

  async #delete(
    kind: string,
    name: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { api, template, log } = this.#options;
    const path = `${collectionOf(kind, template.namespace)}/${name}`;
    try {
      await api.find({ method: "DELETE", path });
      log.info("Deleted", { kind, resource: `${template.namespace}/${name}` });
      return true;
    } catch (error) {
      if (signal.aborted) return true;
      log.warn("Cannot delete", { kind, resource: name, error });
      return false;
    }
  }
}

function isAccepted(
  { conditions }: { readonly conditions: readonly Condition[] },
): boolean {
  return conditions.some(({ type, status }) => type === "Accepted" && status);
}

function collectionOf(kind: string, namespace: string): string {
  const [group, plural] = Object.entries(KINDS).find(([name]) => name === kind)
    ?.[1] ?? ["", ""];
  return `${group}/namespaces/${namespace}/${plural}`;
}
