import { createHash } from "node:crypto";
import { type JsonObject, objectsAt } from "../../base/json.ts";
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

/** Dependencies of the objects of a gateway. */
export interface ProxySources {
  readonly gatewayClass: KubernetesObject;
  readonly parameters: ProxyParameters;
  readonly template: ProxyTemplate;
  /** Ports of listener sets. */
  readonly ports: readonly number[];
  /** Certificate of the controller, PEM. */
  readonly certificate: string;
}

const CONFIG_ANNOTATION = "gateway.internal/config";
const USER = 65532;
const CONFIG_FOLDER = "/etc/gateway";
const SNAPSHOT_FOLDER = "/var/lib/gateway";
const ACCESS_FOLDER = "/var/run/gateway";
const TOKEN_SECONDS = 3600;
/** Entry of the ConfigMap with the certificate of the controller. */
export const CERTIFICATE_ENTRY = "controller.crt";

/** Returns the template of the pods of a gateway, whose objects have this name. */
export function podTemplate(
  gateway: KubernetesObject,
  name: string,
  { parameters, template, certificate }: ProxySources,
  { selector, labels, annotations }: {
    /** Selects the pods. */
    readonly selector: Readonly<Record<string, string>>;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  },
): JsonObject {
  const { files, controllerName } = template;
  const settings = JSON.stringify([files, certificate]);
  return {
    metadata: {
      labels,
      annotations: {
        ...annotations,
        // A change of the settings replaces the pods.
        [CONFIG_ANNOTATION]: createHash("sha256").update(settings).digest(
          "hex",
        ),
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
