import { createHash } from "node:crypto";
import { type JsonObject, objectAt, objectsAt } from "../../base/json.ts";
import type { KubernetesObject } from "../client/kubernetes_object.ts";
import type { ProxyParameters } from "./proxy_parameters.ts";

/** Settings that the proxies of all gateways share. */
export interface ProxyTemplate {
  /** Unless the parameters name another. */
  readonly image: string;
  readonly controllerName: string;
  /** Value of the label `app.kubernetes.io/managed-by`, by which the controller finds its objects. */
  readonly managedBy: string;
  /** Texts of the `config` section by file name. */
  readonly files: Readonly<Record<string, string>>;
  readonly statsPort: number;
  /** Time from the signal to the end of a pod: lame duck, drain, and some more. */
  readonly terminationSeconds: number;
  /** Name and port at which they reach their controller: `gateway-controller.gateway-system.svc:15021`. */
  readonly controller: string;
  /** Namespace that they run in, that of the controller. */
  readonly namespace: string;
}

/** Label with the name of the gateway. https://gateway-api.sigs.k8s.io/geps/gep-1762/ */
const GATEWAY_LABEL = "gateway.networking.k8s.io/gateway-name";
/** Label with the namespace of the gateway, which is not that of its proxies. */
const NAMESPACE_LABEL = "gateway.internal/gateway-namespace";
const CLASS_LABEL = "gateway.networking.k8s.io/gateway-class-name";
/** Label of all objects that a controller made. */
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
const CONFIG_ANNOTATION = "gateway.internal/config";
/** Label of pods that serve all gateways of a controller, with its id. */
export const SERVES_LABEL = "gateway.internal/serves";
const USER = 65532;
const CONFIG_FOLDER = "/etc/gateway";
const SNAPSHOT_FOLDER = "/var/lib/gateway";
const ACCESS_FOLDER = "/var/run/gateway";
/** Entry of the ConfigMap with the certificate of the controller. */
const CERTIFICATE_ENTRY = "controller.crt";
const TOKEN_SECONDS = 3600;
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
  { gatewayClass, parameters, template, ports, certificate }: {
    readonly gatewayClass: KubernetesObject;
    readonly parameters: ProxyParameters;
    readonly template: ProxyTemplate;
    /** Ports of listener sets. */
    readonly ports: readonly number[];
    /** Certificate of the controller, PEM. */
    readonly certificate: string;
  },
): readonly KubernetesObject[] {
  const { managedBy, namespace } = template;
  const selector = { ...proxyLabels(gateway), [MANAGED_BY_LABEL]: managedBy };
  const { labels, annotations } = infrastructureOf(gateway);
  const podAnnotations = allowedAnnotations(
    annotations,
    parameters.podAnnotations,
  );
  const allLabels = {
    ...labels,
    ...selector,
    [CLASS_LABEL]: labelValue(gatewayClass.metadata.name),
  };
  const object = (
    apiVersion: string,
    kind: string,
    fields: JsonObject,
  ): KubernetesObject => ({
    apiVersion,
    kind,
    metadata: {
      name: proxyName(gateway),
      namespace,
      labels: allLabels,
      // Load balancers read those of the Service. Those of other objects may be rights, such as the role of a ServiceAccount; and the
      // API server stores no empty ones, which would look like a difference.
      ...(kind === "Service" && Object.keys(annotations).length > 0 &&
        { annotations }),
      // The gateway itself cannot own objects of another namespace; the controller deletes them with it.
      ownerReferences: [{
        apiVersion: "gateway.networking.k8s.io/v1",
        kind: "GatewayClass",
        name: gatewayClass.metadata.name,
        uid: gatewayClass.metadata.uid ?? "",
        controller: true,
      }],
    },
    ...fields,
  });
  const pod = podTemplate(gateway, {
    parameters,
    template,
    selector,
    certificate,
    metadata: { labels: allLabels, annotations: podAnnotations },
  });
  const { replicas } = parameters;
  return [
    object("v1", "ServiceAccount", {}),
    object("v1", "ConfigMap", {
      data: { ...template.files, [CERTIFICATE_ENTRY]: certificate },
    }),
    object("v1", "Service", {
      spec: serviceSpec(gateway, {
        ...{ selector, ports },
        type: parameters.serviceType,
      }),
    }),
    object("apps/v1", "Deployment", {
      spec: {
        ...(replicas !== undefined && { replicas }),
        selector: { matchLabels: selector },
        strategy: {
          type: "RollingUpdate",
          rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
        },
        template: pod,
      },
    }),
    object("policy/v1", "PodDisruptionBudget", {
      spec: { maxUnavailable: 1, selector: { matchLabels: selector } },
    }),
  ];
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
  { selector, ports, type }: {
    readonly selector: Readonly<Record<string, string>>;
    readonly ports: readonly number[];
    readonly type: string;
  },
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

function podTemplate(
  gateway: KubernetesObject,
  { parameters, template, selector, certificate, metadata }: {
    readonly parameters: ProxyParameters;
    readonly template: ProxyTemplate;
    readonly selector: Readonly<Record<string, string>>;
    readonly certificate: string;
    readonly metadata: {
      readonly labels: Readonly<Record<string, string>>;
      readonly annotations: Readonly<Record<string, string>>;
    };
  },
): JsonObject {
  const { files, controllerName } = template;
  const name = proxyName(gateway);
  return {
    metadata: {
      labels: metadata.labels,
      annotations: {
        ...metadata.annotations,
        // A change of the settings replaces the pods.
        [CONFIG_ANNOTATION]: digest(JSON.stringify([files, certificate])),
      },
    },
    spec: {
      ...placementOf(parameters.pod, selector),
      serviceAccountName: name,
      // The controller is all that proxies speak with: the API server knows no right of theirs.
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: template.terminationSeconds,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: USER,
        runAsGroup: USER,
        fsGroup: USER,
        seccompProfile: { type: "RuntimeDefault" },
        // Listeners have ports such as 80 without a capability.
        sysctls: [{ name: "net.ipv4.ip_unprivileged_port_start", value: "0" }],
      },
      containers: [container(gateway, parameters, template)],
      volumes: [
        {
          name: "config",
          configMap: {
            name,
            items: Object.keys(files).map((key) => ({ key, path: key })),
          },
        },
        { name: "access", projected: accessOf(name, controllerName) },
        { name: "tmp", emptyDir: { sizeLimit: "64Mi" } },
        // In memory: it has Secrets.
        {
          name: "snapshot",
          emptyDir: { medium: "Memory", sizeLimit: "64Mi" },
        },
      ],
    },
  };
}

/** Returns where pods run; those of a gateway are spread among themselves unless a constraint selects others. */
function placementOf(
  { topologySpreadConstraints: constraints, ...pod }: JsonObject,
  selector: Readonly<Record<string, string>>,
): JsonObject {
  if (!Array.isArray(constraints)) return pod;
  const labelSelector = { matchLabels: selector };
  return {
    ...pod,
    topologySpreadConstraints: objectsAt(constraints)
      .map((each) => ({ labelSelector, ...each })),
  };
}

/** Variables of the downward API; backends must not reach the addresses. */
const podFields = [
  ["POD_NAME", "metadata.name"],
  ["POD_IPS", "status.podIPs"],
  ["HOST_IPS", "status.hostIP"],
] as const;

/** The certificate of the controller, and a token for nobody else. */
function accessOf(name: string, audience: string): JsonObject {
  const items = [{ key: CERTIFICATE_ENTRY, path: "ca.crt" }];
  return {
    sources: [
      { configMap: { name, items } },
      {
        serviceAccountToken: {
          ...{ audience, path: "token" },
          expirationSeconds: TOKEN_SECONDS,
        },
      },
    ],
  };
}

function container(
  { metadata }: KubernetesObject,
  parameters: ProxyParameters,
  { image, controllerName, controller, statsPort }: ProxyTemplate,
): JsonObject {
  const probe = (path: string, more: JsonObject) => ({
    httpGet: { path, port: "stats" },
    ...more,
  });
  return {
    name: "gateway",
    image: parameters.image ?? image,
    ...(parameters.imagePullPolicy !== undefined &&
      { imagePullPolicy: parameters.imagePullPolicy }),
    args: [
      "--cluster",
      `--gateway=${metadata.namespace}/${metadata.name}`,
      `--controller-name=${controllerName}`,
      `--file=${CONFIG_FOLDER}`,
      `--controller-address=${controller}`,
      `--controller-access=${ACCESS_FOLDER}`,
      `--cluster-snapshot=${SNAPSHOT_FOLDER}/snapshot`,
    ],
    env: [
      ...podFields.map(([name, fieldPath]) => ({
        name,
        valueFrom: { fieldRef: { fieldPath } },
      })),
      ...parameters.env,
    ],
    ports: [{ name: "stats", containerPort: statsPort }],
    startupProbe: probe("/healthz/ready", {
      periodSeconds: 1,
      failureThreshold: 120,
    }),
    readinessProbe: probe("/healthz/ready", { periodSeconds: 2 }),
    livenessProbe: probe("/healthz/live", {
      periodSeconds: 10,
      timeoutSeconds: 5,
    }),
    resources: parameters.resources,
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    volumeMounts: [
      { name: "config", mountPath: CONFIG_FOLDER, readOnly: true },
      { name: "access", mountPath: ACCESS_FOLDER, readOnly: true },
      { name: "tmp", mountPath: "/tmp" },
      { name: "snapshot", mountPath: SNAPSHOT_FOLDER },
    ],
  };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
