import type { Gateway } from "../../api/resources/gateway_resource.ts";
import {
  type Resource,
  type ResourceSet,
  resourceSetOf,
} from "../../api/resources/resource_set.ts";
import { objectAt, valueAt } from "../../base/json.ts";
import type { ReservedAddress } from "../../base/wire/egress_rules.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";
import { type AddressPool, noPool } from "./address_pool.ts";
import type { ClusterCache } from "./cluster_cache.ts";
import type { ConfigurationCollection } from "./collections.ts";
import type { ReadObject, Rejection } from "./read_objects.ts";
import { relevantResources } from "./relevant_resources.ts";

/** Objects of one class with what is wrong with them. */
export interface ClusterState {
  readonly classes: readonly KubernetesObject[];
  /** Objects of the gateways that this controller serves, valid or not. */
  readonly gateways: readonly KubernetesObject[];
  /** Objects of the listener sets of these gateways, valid or not. */
  readonly listenerSets: readonly KubernetesObject[];
  /** Routes and policies by their UID. */
  readonly objects: ReadonlyMap<string, KubernetesObject>;
  readonly resources: ResourceSet;
  readonly rejections: readonly Rejection[];
  /** From a snapshot: the cluster has been changed since. */
  readonly isRestored?: boolean;
}

/** Gateways that are served, and how. */
export interface StateOptions {
  /** Only gateways of classes with this `controllerName` are served. */
  readonly controllerName: string;
  /** Gives each gateway without `spec.addresses` an address of its own. */
  readonly addressPool?: AddressPool | undefined;
  /** The only gateway to serve, as `namespace/name`. */
  readonly gateway?: string | undefined;
  /** Each gateway has proxies of its own, which listen on all their addresses and have parameters. */
  readonly isManaged: boolean;
}

/** Dependencies of reading the state of a cluster. */
interface StateSources {
  readonly cache: Pick<
    ClusterCache,
    "objects" | "objectsOf" | "restoredFrom"
  >;
  readonly collections: readonly ConfigurationCollection[];
  /** Reads an object of a collection. */
  readonly read: (
    object: KubernetesObject,
    collection: ConfigurationCollection,
  ) => ReadObject;
  /** Addresses that backends must not reach. */
  readonly reserved: readonly ReservedAddress[];
}

/** Returns what is in the cluster now, as far as gateways that are served concern it. */
export function readState(
  { cache, collections, read, reserved }: StateSources,
  options: StateOptions,
): ClusterState {
  const { addressPool = noPool, gateway: only, isManaged } = options;
  const served = findServed(cache, options);
  const resources: Resource[] = [];
  const rejections: Rejection[] = [];
  const objects = new Map<string, KubernetesObject>();
  for (const collection of collections) {
    const own = collection.kind === "Gateway"
      ? served.gateways
      : collection.kind === "ListenerSet"
      ? served.listenerSets
      : cache.objectsOf(collection);
    for (const object of own) {
      const { resource, rejections: rejected } = read(object, collection);
      if (resource !== undefined) resources.push(resource);
      rejections.push(...rejected);
      if (collection.hasStatus === true) {
        objects.set(object.metadata.uid ?? "", object);
      }
    }
  }
  const all = resourceSetOf(resources);
  const set = only === undefined ? all : relevantResources(all);
  return {
    ...served,
    objects,
    rejections,
    isRestored: cache.restoredFrom !== undefined,
    resources: {
      ...set,
      gateways: isManaged
        ? set.gateways.map(withoutAddresses)
        : addressPool.assign(set.gateways),
      reserved,
    },
  };
}

/** Finds the gateways of this controller's classes, and their listener sets. */
function findServed(
  cache: StateSources["cache"],
  { controllerName, gateway: only }: StateOptions,
): Pick<ClusterState, "classes" | "gateways" | "listenerSets"> {
  const classes = [...cache.objects("GatewayClass")].filter((object) =>
    valueAt(object, "spec", "controllerName") === controllerName
  );
  const names = new Set(classes.map(({ metadata }) => metadata.name));
  const gateways = [...cache.objects("Gateway")].filter((object) =>
    names.has(String(valueAt(object, "spec", "gatewayClassName"))) &&
    (only === undefined || objectKey(object) === only)
  );
  const keys = new Set(gateways.map(objectKey));
  const listenerSets = [...cache.objects("ListenerSet")].filter((object) =>
    keys.has(parentGatewayOf(object))
  );
  return { classes, gateways, listenerSets };
}

/** Returns the gateway of a `ListenerSet`, valid or not: `namespace/name`. */
export function parentGatewayOf(set: KubernetesObject): string {
  const { namespace = set.metadata.namespace, name } = objectAt(
    set,
    "spec",
    "parentRef",
  );
  return `${namespace}/${name}`;
}

/** Addresses of a gateway with proxies of its own are those of its Service, not of its pods. */
function withoutAddresses(gateway: Gateway): Gateway {
  const { addresses: _, ...spec } = gateway.spec;
  return { ...gateway, spec };
}
