import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { KubernetesObject } from "../../src/cluster/client/kubernetes_object.ts";
import { proxyName } from "../../src/cluster/infrastructure/proxy_objects.ts";
import { install } from "./install.ts";
import { SERVERS_ADDRESS } from "./api_server.ts";
import {
  readyEndpoints,
  startTestCluster,
  type TestCluster,
  until,
} from "./test_cluster.ts";

/** Namespace of the controller and the proxies. */
export const SYSTEM = "gateway-system";
const ROUTES = "gateway.networking.k8s.io/v1";
const POLICIES = "policy.gateway.internal/v1alpha1";

/** A cluster with the chart in mode `managed`. */
export interface ManagedCluster extends TestCluster {
  /** Applies objects in order. */
  apply(...objects: readonly object[]): Promise<void>;
}

/** Starts a cluster with the chart, and namespaces. @param values Returns more of them for `--set`, once there are addresses. */
export async function startManagedCluster(
  namespaces: readonly string[],
  values: () => Promise<readonly string[]> = () => Promise.resolve([]),
): Promise<ManagedCluster> {
  const cluster = await startTestCluster();
  const more = await values();
  const apply = (...objects: readonly object[]) =>
    install(cluster.api, objects.map((each) => JSON.stringify(each)));
  await apply(
    ...[SYSTEM, ...namespaces].map((name) => ({
      ...{ apiVersion: "v1", kind: "Namespace" },
      metadata: { name },
    })),
  );
  const { success, stderr } = await new Deno.Command(
    `${cluster.programs}/helm`,
    {
      args: [
        ...["install", "gateway", "deploy/helm/gateway", "-n", SYSTEM],
        ...["--kubeconfig", cluster.kubeconfig],
        ...["--set", "proxies.serviceType=ClusterIP"],
        ...["--set-string", "proxies.replicas=1"],
        ...["--set", "config.lameDuck=0s"],
        ...["--set", "config.workers=1"],
        ...more.flatMap((each) => ["--set", each]),
      ],
    },
  ).output();
  assert(success, new TextDecoder().decode(stderr));
  return { ...cluster, apply };
}

/** Returns the name of the objects of a gateway, `namespace/name`. */
export function objectsOf(gateway: string): string {
  const [namespace = "", name = ""] = gateway.split("/");
  return proxyName({ metadata: { namespace, name } });
}

/** Waits for a ready proxy of a gateway, `namespace/name`; returns its address. */
export async function untilProxy(
  cluster: TestCluster,
  gateway: string,
): Promise<string> {
  return await until(`a proxy of ${gateway}`, async () => {
    const [address] = await readyEndpoints(cluster, SYSTEM, objectsOf(gateway));
    return address;
  });
}

/** Returns the name and the folder of the pod of a gateway's proxy, where its volumes are. */
export function podOf(cluster: TestCluster, gateway: string) {
  const pods = `${cluster.directory}/pods/${SYSTEM}`;
  const [name = ""] = Array.from(Deno.readDirSync(pods), ({ name }) => name)
    .filter((each) => each.startsWith(objectsOf(gateway)))
    .toSorted((a, b) => startOf(`${pods}/${b}`) - startOf(`${pods}/${a}`));
  return { name, folder: `${pods}/${name}` };
}

function startOf(folder: string): number {
  return Deno.statSync(folder).mtime?.getTime() ?? 0;
}

/** An object of a namespace; `path` is `namespace/name`. */
export function object(
  kind: string,
  path: string,
  fields: object,
  metadata: object = {},
): KubernetesObject & { readonly kind: string } {
  const [namespace = "", name = ""] = path.split("/");
  const apiVersion = versions[kind] ?? "v1";
  return {
    ...{ apiVersion, kind, ...fields },
    metadata: { name, namespace, ...metadata },
  };
}

const versions: Readonly<Record<string, string>> = {
  Gateway: ROUTES,
  HTTPRoute: ROUTES,
  GRPCRoute: ROUTES,
  ListenerSet: ROUTES,
  BackendTLSPolicy: ROUTES,
  ReferenceGrant: "gateway.networking.k8s.io/v1beta1",
  GatewayPolicy: POLICIES,
  GatewayBackend: POLICIES,
  GatewayKey: POLICIES,
  GatewayTeam: POLICIES,
  EndpointSlice: "discovery.k8s.io/v1",
};

/** A Service whose endpoint is a server of the test. */
export function serviceAt(path: string, port: number, address?: string) {
  const [, name] = path.split("/");
  return [
    object("Service", path, {
      spec: { clusterIP: "None", ports: [{ name: "http", port: 80 }] },
    }),
    object("EndpointSlice", path, {
      addressType: "IPv4",
      ports: [{ name: "http", port }],
      endpoints: [{
        addresses: [address ?? SERVERS_ADDRESS],
        conditions: { ready: true },
      }],
    }, { labels: { "kubernetes.io/service-name": name } }),
  ];
}

/** A Secret of strings. */
export function secret(
  path: string,
  stringData: Readonly<Record<string, string>>,
  more: object = {},
) {
  return object("Secret", path, {
    type: "Opaque",
    stringData,
  }, more);
}

/** A Secret with a certificate. */
export function certificateSecret(
  path: string,
  { cert, key }: { readonly cert: string; readonly key: string },
) {
  return object("Secret", path, {
    type: "kubernetes.io/tls",
    stringData: { "tls.crt": cert, "tls.key": key },
  });
}

/** A reference to a `GatewayBackend`. */
export function toBackend(name: string, namespace?: string) {
  return {
    ...{ group: "policy.gateway.internal", kind: "GatewayBackend", name },
    ...(namespace !== undefined && { namespace }),
  };
}

/** Issues a token for a service account, `namespace/name`. */
export async function tokenFor(
  { api }: TestCluster,
  account: string,
  audience?: string,
): Promise<string> {
  const [namespace, name] = account.split("/");
  const issued = await api.request({
    method: "POST",
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    body: { spec: audience === undefined ? {} : { audiences: [audience] } },
  });
  const status: JsonObject =
    isJsonObject(issued) && isJsonObject(issued["status"])
      ? issued["status"]
      : {};
  return String(status["token"]);
}
