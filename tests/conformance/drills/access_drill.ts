/** Rights that are missing, each by itself, and tokens that are replaced. */
import assert from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { KubernetesApi } from "../../../src/cluster/client/kubernetes_api.ts";
import { ClusterCache } from "../../../src/cluster/source/cluster_cache.ts";
import { createCollections } from "../../../src/cluster/source/collections.ts";
import { parseAllYaml } from "../../../src/base/yaml_library.ts";
import { POLICY_API_GROUP } from "../../../src/api/schema/group.ts";
import type { Finding } from "../../drills/drill.ts";
import { RecordedLog } from "../../harness/telemetry/recorded_log.ts";
import { listOf } from "../pods.ts";
import {
  changeRoute,
  create,
  type DrillCluster,
  gatewayObjects,
  redirectRoute,
  startDrillGateway,
  until,
} from "./drill_cluster.ts";

const PORT = 8080;
const NAMESPACE = "default";
const RBAC = "rbac.authorization.k8s.io";

/** Rights of the chart's ClusterRole, one resource each. */
interface Right {
  readonly apiGroups: readonly unknown[];
  readonly resources: readonly [string];
  readonly verbs: readonly unknown[];
}

/** Takes away each right of the chart by itself: the log has to name it, and nothing is served until it is there. */
export async function rightsDrill(cluster: DrillCluster): Promise<Finding[]> {
  const { api } = cluster;
  await create(api, gatewayObjects(PORT));
  await create(api, [redirectRoute("r", "v0")]);
  const rights = await readRights();
  const reading = rights.filter(({ verbs }) => verbs.includes("list"));
  const writing = rights.filter(({ resources: [name] }) =>
    name.endsWith("/status")
  );
  await giveRights(api, rights);
  await create(api, leaseRights());
  const access = await tokenAccess(cluster);
  for (const right of reading) await checkReading(api, access, rights, right);
  await checkWriting(cluster, rights, writing);
  return [{
    drill: "403 for each single right",
    figures: { "rights to read": reading.length, "to write": writing.length },
  }];
}

const leases: Right = {
  apiGroups: ["coordination.k8s.io"],
  resources: ["leases"],
  verbs: ["create", "get", "update"],
};

/** Reads the cluster without a right, then with it. */
async function checkReading(
  api: KubernetesApi,
  access: KubernetesApi["access"],
  rights: readonly Right[],
  missing: Right,
): Promise<void> {
  const [resource] = missing.resources;
  await giveRights(api, rights.filter((each) => each !== missing));
  using limited = new KubernetesApi(access);
  const log = new RecordedLog();
  let isSynced = false;
  const cache = new ClusterCache({
    api: limited,
    clock: systemClock,
    log,
    random: Math.random,
    collections: createCollections(POLICY_API_GROUP),
    namespaces: [],
    onChange() {},
  });
  void cache.synced.then(() => isSynced = true);
  const stop = new AbortController();
  const running = cache.run(stop.signal);
  const pattern = new RegExp(`cannot list resource \\\\?"${resource}\\\\?"`);
  await until(() =>
    Promise.resolve(
      [...cache.failures.values()].some((each) => pattern.test(each)),
    )
  );
  assert(!isSynced, `synced without ${resource}`);
  assert(log.messages("error").length > 0);
  await giveRights(api, rights);
  await until(() => Promise.resolve(isSynced));
  stop.abort();
  await running;
}

/** Runs a gateway without the rights to write: it serves, and names each. */
async function checkWriting(
  cluster: DrillCluster,
  rights: readonly Right[],
  writing: readonly Right[],
): Promise<void> {
  const { api } = cluster;
  await giveRights(api, rights.filter((each) => !writing.includes(each)));
  await create(api, statusObjects());
  await using gateway = await startDrillGateway(
    { ...cluster, kubeconfig: await tokenKubeconfig(cluster) },
    PORT,
  );
  await gateway.untilTarget("r", "v0");
  for (const { resources: [name] } of writing) {
    await until(async () => (await gateway.log()).includes(`"${name}`));
  }
  await api.request({
    method: "DELETE",
    path: `/apis/${RBAC}/v1/namespaces/${NAMESPACE}/rolebindings/drill`,
  });
  await until(async () =>
    /cannot \w+ resource \\?"leases/.test(await gateway.log())
  );
  await gateway.untilTarget("r", "v0");
}

/** One object of each kind that has a status. */
function statusObjects(): readonly object[] {
  const metadata = (name: string) => ({ name, namespace: NAMESPACE });
  return [
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GRPCRoute",
      metadata: metadata("grpc"),
      spec: { parentRefs: [{ name: "gw" }] },
    },
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "ListenerSet",
      metadata: metadata("set"),
      spec: {
        parentRef: { name: "gw" },
        listeners: [{ name: "more", port: PORT + 1, protocol: "HTTP" }],
      },
    },
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: metadata("tls"),
      spec: {
        parentRefs: [{ name: "gw" }],
        rules: [{ backendRefs: [{ name: "tls", port: 443 }] }],
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: metadata("tls"),
      spec: { clusterIP: "None", ports: [{ port: 443 }] },
    },
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "BackendTLSPolicy",
      metadata: metadata("tls"),
      spec: {
        targetRefs: [{ group: "", kind: "Service", name: "tls" }],
        validation: {
          hostname: "tls.example.com",
          wellKnownCACertificates: "System",
        },
      },
    },
    {
      apiVersion: `${POLICY_API_GROUP}/v1alpha1`,
      kind: "GatewayPolicy",
      metadata: metadata("policy"),
      spec: {
        targetRefs: [{
          group: "gateway.networking.k8s.io",
          kind: "HTTPRoute",
          name: "tls",
        }],
        traffic: { directResponse: { status: 200, body: "ok" } },
      },
    },
  ];
}

/** Replaces the account of a gateway, so that its token is rejected, and the token in its file. */
export async function tokenDrill(cluster: DrillCluster): Promise<Finding[]> {
  const { api } = cluster;
  await create(api, gatewayObjects(PORT));
  await create(api, [redirectRoute("r", "v0")]);
  await giveRights(api, await readRights());
  await create(api, leaseRights());
  const kubeconfig = await tokenKubeconfig(cluster);
  await using gateway = await startDrillGateway(
    { ...cluster, kubeconfig },
    PORT,
  );
  await gateway.untilTarget("r", "v0");
  await api.request({ method: "DELETE", path: accountPath() });
  await tokenKubeconfig(cluster);
  // Watches that are open stay so; the next ones need the new token.
  await cluster.signal("SIGKILL");
  await cluster.restart();
  await changeRoute(api, "r", "v1");
  const ms = await gateway.untilTarget("r", "v1");
  return [{
    drill: "token replaced",
    figures: { "in step": `${Math.round(ms)} ms` },
  }];
}

/** Reads the rights of the chart's ClusterRole, one resource each. */
async function readRights(): Promise<readonly Right[]> {
  const objects = parseAllYaml(await Deno.readTextFile("deploy/shared.yaml"));
  const role = objects.filter(isJsonObject).find(({ kind }) =>
    kind === "ClusterRole"
  );
  return listOf(role, "rules").flatMap((rule) => {
    const { apiGroups, resources, verbs } = rule;
    const list = (value: unknown): readonly unknown[] =>
      Array.isArray(value) ? value : [];
    return list(resources).map((name): Right => ({
      apiGroups: list(apiGroups),
      resources: [String(name)],
      verbs: list(verbs),
    }));
  });
}

/** Gives exactly these rights, and waits until they are in force. */
async function giveRights(
  api: KubernetesApi,
  rules: readonly Right[],
): Promise<void> {
  await create(api, [
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRole",
      metadata: { name: "drill" },
      rules,
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: "drill" },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "drill" },
      subjects: [subject],
    },
  ]);
  await until(async () => {
    const expected = new Set(rules.flatMap(({ resources }) => resources));
    const all = await readRights();
    const allowed = await Promise.all(
      all.map((right) => isAllowed(api, right)),
    );
    return all.every(({ resources: [name] }, index) =>
      allowed[index] === expected.has(name)
    );
  });
}

async function isAllowed(
  api: KubernetesApi,
  { apiGroups: [group], resources: [name], verbs: [verb] }: Right,
): Promise<boolean> {
  const [resource, subresource] = name.split("/");
  const review = await api.request({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    body: {
      spec: {
        user: `system:serviceaccount:${NAMESPACE}:drill`,
        resourceAttributes: {
          ...{ group, resource, verb, namespace: NAMESPACE },
          ...(subresource !== undefined && { subresource }),
        },
      },
    },
  });
  const status: unknown = isJsonObject(review) ? review["status"] : undefined;
  return isJsonObject(status) && status["allowed"] === true;
}

const subject = {
  kind: "ServiceAccount",
  name: "drill",
  namespace: NAMESPACE,
};

function leaseRights(): readonly object[] {
  const metadata = { name: "drill", namespace: NAMESPACE };
  return [
    {
      apiVersion: `${RBAC}/v1`,
      kind: "Role",
      metadata,
      rules: [leases],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC, kind: "Role", name: "drill" },
      subjects: [subject],
    },
  ];
}

function accountPath(): string {
  return `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/drill`;
}

/** Creates the account unless it is there; returns a token of it. */
async function issueToken({ api }: DrillCluster): Promise<string> {
  await create(api, [{
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "drill", namespace: NAMESPACE },
  }]);
  const issued = await api.request({
    method: "POST",
    path: `${accountPath()}/token`,
    body: { spec: { expirationSeconds: 3600 } },
  });
  const status: JsonObject =
    isJsonObject(issued) && isJsonObject(issued["status"])
      ? issued["status"]
      : {};
  return String(status["token"]);
}

async function tokenAccess(
  cluster: DrillCluster,
): Promise<KubernetesApi["access"]> {
  const token = await issueToken(cluster);
  return { ...cluster.api.access, token: () => Promise.resolve(token) };
}

/** Writes a kubeconfig with a token file; the token is new. */
async function tokenKubeconfig(cluster: DrillCluster): Promise<string> {
  const { directory, api: { access: { server, ca = "" } } } = cluster;
  const path = `${directory}/drill.kubeconfig`;
  await Deno.writeTextFile(
    `${directory}/drill.token`,
    await issueToken(cluster),
  );
  await Deno.writeTextFile(
    path,
    JSON.stringify({
      clusters: [{
        name: "c",
        cluster: { server, "certificate-authority-data": btoa(ca) },
      }],
      users: [{ name: "u", user: { tokenFile: "drill.token" } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
  return path;
}
