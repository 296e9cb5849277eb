import { createHash } from "node:crypto";
import { type JsonObject, objectAt, objectsAt } from "../../base/json.ts";
import type { KubernetesObject } from "../client/kubernetes_object.ts";
import type { ProxyParameters } from "./proxy_parameters.ts";
import {
  CERTIFICATE_ENTRY,
  podTemplate,
  type ProxySources,
} from "./proxy_pod.ts";

/** Label with the name of the gateway. https://gateway-api.sigs.k8s.io/geps/gep-1762/ */
const GATEWAY_LABEL = "gateway.networking.k8s.io/gateway-name";
/** Label with the namespace of the gateway, which is not that of its proxies. */
const NAMESPACE_LABEL = "gateway.internal/gateway-namespace";
const CLASS_LABEL = "gateway.networking.k8s.io/gateway-class-name";
/** Label of all objects that a controller made. */
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
/** Label of pods that serve all gateways of a controller, with its id. */
export const SERVES_LABEL = "gateway.internal/serves";
/** Longest name of a Service, and longest value of a label. */
const MAX_NAME = 63;
const HASH_LENGTH = 8;

/** Returns the name of the objects of a gateway: `<namespace>-<gateway>-<hash>`. */
export function proxyName({ metadata }: KubernetesObject): string {
  const { namespace, name } = metadata;
  const text = `${namespace}-${name}`.replaceAll(".", "-");
  const hash = digest(`${namespace}/${name}`).slice(0, HASH_LENGTH);
  return `${text.slice(0, MAX_NAME - HASH_LENGTH - 1)}-${hash}`;
}

/** Returns the controller name as names and labels can have it: `example.com/gateway` → `example.com-gateway`. */
export function controllerId(controllerName: string): string {
  return controllerName.toLowerCase().replaceAll(/[^a-z0-9.-]/g, "-");
}

/** Returns the labels that select the proxies of a gateway. */
export function proxyLabels(
  { metadata: { namespace = "", name } }: KubernetesObject,
): Readonly<Record<string, string>> {
  return {
    [GATEWAY_LABEL]: labelValue(name),
    [NAMESPACE_LABEL]: labelValue(namespace),
  };
}

/** Names may be longer than values of labels. */
function labelValue(name: string): string {
  if (name.length <= MAX_NAME) return name;
  const hash = digest(name).slice(0, HASH_LENGTH);
  return `${name.slice(0, MAX_NAME - HASH_LENGTH - 1)}-${hash}`;
}

/** Returns the objects that run the proxies of a gateway. */
export function proxyObjects(
  gateway: KubernetesObject,
  sources: ProxySources,
): readonly KubernetesObject[] {
  const { gatewayClass, parameters, template, certificate } = sources;
  const { managedBy, namespace } = template;
  const selector = { ...proxyLabels(gateway), [MANAGED_BY_LABEL]: managedBy };
  const { labels, annotations } = infrastructureOf(gateway);
  const metadata = {
    name: proxyName(gateway),
    namespace,
    labels: {
      ...labels,
      ...selector,
      [CLASS_LABEL]: labelValue(gatewayClass.metadata.name),
    },
    // The gateway itself cannot own objects of another namespace; the controller deletes them with it.
    ownerReferences: [{
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      name: gatewayClass.metadata.name,
      uid: gatewayClass.metadata.uid ?? "",
      controller: true,
    }],
  };
  // Load balancers read those of the Service. Those of other objects may be rights, such as the role of a ServiceAccount; and the
  // API server stores no empty ones, which would look like a difference.
  const ofService = Object.keys(annotations).length > 0 ? { annotations } : {};
  const data = { ...template.files, [CERTIFICATE_ENTRY]: certificate };
  const pod = podTemplate(gateway, metadata.name, sources, {
    selector,
    labels: metadata.labels,
    annotations: allowedAnnotations(annotations, parameters.podAnnotations),
  });
  const object = (apiVersion: string, kind: string, spec?: JsonObject) => ({
    apiVersion,
    kind,
    metadata,
    ...(spec && { spec }),
  });
  return [
    object("v1", "ServiceAccount"),
    { ...object("v1", "ConfigMap"), data },
    {
      ...object("v1", "Service", serviceSpec(gateway, sources, selector)),
      metadata: { ...metadata, ...ofService },
    },
    object("apps/v1", "Deployment", deploymentSpec(parameters, selector, pod)),
    object("policy/v1", "PodDisruptionBudget", {
      maxUnavailable: 1,
      selector: { matchLabels: selector },
    }),
  ];
}

function deploymentSpec(
  { replicas }: ProxyParameters,
  selector: Readonly<Record<string, string>>,
  template: JsonObject,
): JsonObject {
  return {
    ...(replicas !== undefined && { replicas }),
    selector: { matchLabels: selector },
    strategy: {
      type: "RollingUpdate",
      rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
    },
    template,
  };
}

/** Prefixes of labels by which Kubernetes, and the objects of this controller, select pods. */
const reservedLabels =
  /^(?:(?:[^/]+\.)?(?:kubernetes\.io|k8s\.io|gateway\.internal))\//;

/** Returns the labels of a gateway's infrastructure that its author may not set. */
export function reservedLabelsOf(
  gateway: KubernetesObject,
): readonly string[] {
  const { labels } = infrastructureOf(gateway);
  return Object.keys(labels).filter((name) => reservedLabels.test(name));
}

/** Selects annotations by their names, or prefixes that end with `*`. */
function allowedAnnotations(
  annotations: Readonly<Record<string, string>>,
  allowed: readonly string[],
): Readonly<Record<string, string>> {
  const isAllowed = (name: string) =>
    allowed.some((each) =>
      each.endsWith("*") ? name.startsWith(each.slice(0, -1)) : name === each
    );
  return Object.fromEntries(
    Object.entries(annotations).filter(([name]) => isAllowed(name)),
  );
}

function infrastructureOf(gateway: KubernetesObject) {
  const stringsOf = (name: string): Readonly<Record<string, string>> =>
    Object.fromEntries(
      Object.entries(objectAt(gateway, "spec", "infrastructure", name))
        .map(([key, text]) => [key, String(text)]),
    );
  return { labels: stringsOf("labels"), annotations: stringsOf("annotations") };
}

/** Returns the ports of the listeners of a gateway or a listener set. */
export function portsOf(object: KubernetesObject): readonly number[] {
  return objectsAt(object, "spec", "listeners").map(({ port }) => Number(port));
}

function serviceSpec(
  gateway: KubernetesObject,
  { ports, parameters: { serviceType: type } }: ProxySources,
  selector: Readonly<Record<string, string>>,
): JsonObject {
  const all = new Set([...portsOf(gateway), ...ports]);
  const [address] = objectsAt(gateway, "spec", "addresses")
    .map(({ value }) => value).filter((value) => typeof value === "string");
  return {
    type,
    selector,
    ports: [...all].toSorted((a, b) => a - b).map((port) => ({
      name: `port-${port}`,
      protocol: "TCP",
      port,
      targetPort: port,
    })),
    ...(type === "LoadBalancer" && address !== undefined &&
      { loadBalancerIP: address }),
  };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
