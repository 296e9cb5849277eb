import { serviceOf } from "../../api/resources/cluster_kinds.ts";
import { objectAt, objectsAt, stringsAt } from "../../base/json.ts";
import {
  isLoopback,
  type ReservedAddress,
} from "../../base/wire/egress_rules.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";

/** Service of the API server. */
const API_SERVER = "default/kubernetes";
/** Labels of Services whose pods are a part of the gateway, in its own namespace. */
const OWN_LABELS = "gateway.internal/";
/** Label of Services that only operators may reach, such as that of the metrics. */
const RESERVED_LABEL = "gateway.internal/reserved";

/**
 * Returns the addresses that the environment of a pod has.
 * @param environment `KUBERNETES_SERVICE_HOST`, and from the downward API `POD_IPS` and `HOST_IPS`.
 * @param server URL of the API server.
 */
export function environmentAddresses(
  environment: Readonly<Record<string, string>>,
  server: string,
): readonly ReservedAddress[] {
  const listed = (name: string, of: ReservedAddress["of"]) =>
    (environment[name] ?? "").split(",").filter((text) => text !== "")
      .map((address) => ({ address, of }));
  const host = new URL(server).hostname.replace(/^\[(.*)\]$/, "$1");
  return [
    ...listed("KUBERNETES_SERVICE_HOST", "apiServer"),
    ...(isLoopback(host) ? [] : [{ address: host, of: "apiServer" as const }]),
    ...listed("POD_IPS", "gateway"),
    ...listed("HOST_IPS", "node"),
  ];
}

/** Namespace of the Service that a controller makes up for proxies; no real one can have a name with a dot. */
export const DELIVERED_NAMESPACE = "gateway.internal";

/** Returns a Service that has addresses which a proxy must not reach, for one that sees no objects of others. */
export function reservedService(
  addresses: readonly ReservedAddress[],
): KubernetesObject {
  const clusterIPs = [...new Set(addresses.map(({ address }) => address))]
    .toSorted();
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      ...{ name: "reserved", namespace: DELIVERED_NAMESPACE, uid: "reserved" },
      resourceVersion: clusterIPs.join(),
      labels: { [RESERVED_LABEL]: "true" },
    },
    spec: { clusterIPs, ports: [] },
  };
}

/** Objects that reserved addresses are read from. */
export interface AddressObjects {
  /** Namespace of the gateway. */
  readonly namespace: string;
  readonly services: Iterable<KubernetesObject>;
  readonly slices: Iterable<KubernetesObject>;
}

/** Addresses, and the services whose endpoints they are, as `namespace/name`. */
export interface ObjectAddresses {
  readonly addresses: readonly ReservedAddress[];
  readonly services: ReadonlySet<string>;
}

/** Returns the addresses of the API server and of the pods of the gateway itself: proxies, controllers, and what they need. */
export function objectAddresses(
  { namespace, services, slices }: AddressObjects,
): ObjectAddresses {
  const found: ReservedAddress[] = [];
  const own = new Set([API_SERVER]);
  for (const service of services) {
    const key = objectKey(service);
    const labels = Object.keys(service.metadata.labels ?? {});
    const isOwn = service.metadata.namespace === namespace &&
      labels.some((name) => name.startsWith(OWN_LABELS));
    if (isOwn) own.add(key);
    if (key === API_SERVER) addAll(found, clusterIps(service), "apiServer");
    if (isOwn && labels.includes(RESERVED_LABEL)) {
      addAll(found, clusterIps(service), "gateway");
    }
  }
  for (const slice of slices) {
    const service = serviceOf(slice);
    if (service === API_SERVER) addAll(found, endpoints(slice), "apiServer");
    else if (own.has(service)) addAll(found, endpoints(slice), "gateway");
  }
  return { addresses: found, services: own };
}

function addAll(
  found: ReservedAddress[],
  addresses: readonly string[],
  of: ReservedAddress["of"],
): void {
  for (const address of addresses) found.push({ address, of });
}

function clusterIps(service: KubernetesObject): readonly string[] {
  const { clusterIP, clusterIPs = [clusterIP] } = objectAt(service, "spec");
  return stringsAt(clusterIPs);
}

function endpoints(slice: KubernetesObject): readonly string[] {
  return objectsAt(slice, "endpoints").flatMap((each) =>
    stringsAt(each, "addresses")
  );
}
