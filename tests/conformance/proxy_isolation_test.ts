import assert from "node:assert/strict";
import { isJsonObject } from "../../src/base/json.ts";
import { systemClock } from "../../src/base/clock.ts";
import { readLines } from "../../src/cluster/client/api_responses.ts";
import { readControllerAccess } from "../../src/cluster/client/cluster_access.ts";
import {
  ApiError,
  KubernetesApi,
} from "../../src/cluster/client/kubernetes_api.ts";
import { createAuthority } from "../harness/login/certificates.ts";
import { SERVERS_ADDRESS } from "./api_server.ts";
import {
  certificateSecret,
  object,
  objectsOf,
  podOf,
  secret,
  serviceAt,
  startManagedCluster,
  SYSTEM,
  toBackend,
  tokenFor,
  untilProxy,
} from "./managed_cluster.ts";
import { listOf } from "./pods.ts";
import { get, print, until } from "./test_cluster.ts";

const CONTROLLER = "gateway-controller.gateway-system.svc:15030";
const AUDIENCE = "gateway.internal/controller";
const TEAMS = ["blue", "green"];
const GATEWAY = "blue/gw";

const cluster = await startManagedCluster(TEAMS);
const authority = await createAuthority();

function hostOf(team: string): string {
  return `${objectsOf(`${team}/gw`)}.${SYSTEM}.svc`;
}

/** A server that responds with its name and the key that it was sent. */
function serve(name: string) {
  return Deno.serve(
    { hostname: SERVERS_ADDRESS, port: 0, onListen() {} },
    ({ headers }) =>
      Response.json({ name, key: headers.get("authorization") ?? "" }),
  );
}

/** A route for a path to a backend. */
function route(team: string, name: string, backendRef: object) {
  return object("HTTPRoute", `${team}/${name}`, {
    spec: {
      parentRefs: [{ name: "gw" }],
      rules: [{
        matches: [{ path: { value: `/${name}` } }],
        backendRefs: [backendRef],
      }],
    },
  });
}

function headerPolicy(team: string, value: string) {
  return object("GatewayPolicy", `${team}/headers`, {
    spec: {
      targetRefs: [{
        group: "gateway.networking.k8s.io",
        kind: "HTTPRoute",
        name: "web",
      }],
      traffic: {
        responseHeaderModifier: { set: [{ name: "x-policy", value }] },
      },
    },
  });
}

const servers = TEAMS.map((team) => serve(`server of ${team}`));

for (const [index, team] of TEAMS.entries()) {
  const { port } = servers[index]?.addr ?? { port: 0 };
  await cluster.apply(
    certificateSecret(
      `${team}/tls-${team}`,
      await authority.issueServer([hostOf(team)]),
    ),
    secret(`${team}/key-${team}`, { "apiKey": `secret-of-${team}` }, {
      labels: { "policy.gateway.internal/credentials": "llm" },
    }),
    secret(`${team}/unused-${team}`, { "apiKey": `unused-of-${team}` }, {
      labels: { "policy.gateway.internal/credentials": "llm" },
    }),
    object("ConfigMap", `${team}/settings-${team}`, {
      data: { password: `password-of-${team}` },
    }),
    object("Gateway", `${team}/gw`, {
      spec: {
        gatewayClassName: "gateway",
        listeners: [{
          ...{ name: "https", port: 443, protocol: "HTTPS" },
          tls: { certificateRefs: [{ name: `tls-${team}` }] },
        }],
      },
    }),
    ...serviceAt(`${team}/web-${team}`, port),
    route(team, "web", { name: `web-${team}`, port: 80 }),
    headerPolicy(team, `policy of ${team}`),
    object("GatewayBackend", `${team}/llm-${team}`, {
      spec: {
        llm: {
          provider: "OpenAICompatible",
          host: `${SERVERS_ADDRESS}:${port}`,
          plainText: true,
          credentials: { secretRef: { name: `key-${team}` } },
        },
      },
    }),
    route(team, "v1", toBackend(`llm-${team}`)),
  );
}
for (const team of TEAMS) await untilProxy(cluster, `${team}/gw`);

/** A request to the gateway of "blue", which verifies its certificate. */
async function request(path: string, ca = authority.cert, init = {}) {
  using client = Deno.createHttpClient({ caCerts: [ca] });
  const url = `https://${hostOf("blue")}${path}`;
  const response = await fetch(url, { client, ...init });
  return { headers: response.headers, text: await response.text() };
}

/** A request to the LLM provider, whose response has the key. */
async function embed(): Promise<string> {
  const { text } = await request("/v1/embeddings", authority.cert, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", input: "text" }),
  });
  return text;
}

/** A client of the API server with a token. */
function apiWith(token: string): KubernetesApi {
  return new KubernetesApi({
    ...cluster.api.access,
    token: () => Promise.resolve(token),
  });
}

async function statusOf(api: KubernetesApi, path: string): Promise<number> {
  try {
    const response = await api.open({ path });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
}

/** Paths of everything that can be listed. */
async function listPaths(): Promise<readonly string[]> {
  const groups = listOf(await cluster.api.request({ path: "/apis" }), "groups");
  const versions = groups.flatMap((group) => listOf(group, "versions"))
    .map(({ groupVersion }) => `/apis/${groupVersion}`);
  const paths: string[] = [];
  for (const version of ["/api/v1", ...versions]) {
    const found = await cluster.api.request({ path: version });
    for (const { name, namespaced, verbs } of listOf(found, "resources")) {
      if (!Array.isArray(verbs) || !verbs.includes("list")) continue;
      paths.push(`${version}/${name}`);
      if (namespaced !== true) continue;
      for (const namespace of [...TEAMS, SYSTEM]) {
        paths.push(`${version}/namespaces/${namespace}/${name}`);
      }
    }
  }
  return paths;
}

Deno.test("the token of a proxy is none for the API server", async () => {
  const { folder } = podOf(cluster, GATEWAY);
  const token = await Deno.readTextFile(`${folder}/var/run/gateway/token`);
  using api = apiWith(token);
  for (
    const path of [
      "/api",
      "/version",
      "/api/v1/secrets",
      "/api/v1/namespaces/blue/secrets/tls-blue",
    ]
  ) {
    // Anyone may see the version.
    const expected = path === "/version" ? [200, 401] : [401];
    assert(expected.includes(await statusOf(api, path)), path);
  }
});

Deno.test("the service account of a proxy may read nothing, not with a token for the API server either", async () => {
  using api = apiWith(
    await tokenFor(cluster, `${SYSTEM}/${objectsOf(GATEWAY)}`),
  );
  const paths = await listPaths();
  assert(paths.length > 100, String(paths.length));
  const readable: string[] = [];
  for (const path of paths) {
    for (const query of ["", "?watch=1&timeoutSeconds=1"]) {
      if (await statusOf(api, path + query) !== 403) readable.push(path);
    }
  }
  assert.deepEqual(readable, []);
  for (
    const name of ["tls-blue", "tls-green"].flatMap((each) => [
      `/api/v1/namespaces/blue/secrets/${each}`,
      `/api/v1/namespaces/green/secrets/${each}`,
    ]).concat(
      `/api/v1/namespaces/${SYSTEM}/secrets/gateway.internal-controller-certificate`,
      `/api/v1/namespaces/${SYSTEM}/configmaps/${objectsOf(GATEWAY)}`,
    )
  ) {
    assert.equal(await statusOf(api, name), 403, name);
  }
});

const reviewed = [
  ["list", "", "secrets"],
  ["watch", "", "secrets"],
  ["get", "", "secrets"],
  ["list", "", "configmaps"],
  ["list", "", "services"],
  ["list", "discovery.k8s.io", "endpointslices"],
  ["list", "gateway.networking.k8s.io", "httproutes"],
  ["list", "policy.gateway.internal", "gatewaypolicies"],
  ["create", "", "pods"],
  ["create", "rbac.authorization.k8s.io", "rolebindings"],
  ["create", "authentication.k8s.io", "tokenreviews"],
] as const;
Deno.test("SelfSubjectAccessReviews of a proxy's service account allow nothing", async () => {
  using api = apiWith(
    await tokenFor(cluster, `${SYSTEM}/${objectsOf(GATEWAY)}`),
  );
  for (const [verb, group, resource] of reviewed) {
    for (const namespace of ["", ...TEAMS, SYSTEM]) {
      const review = await api.request({
        method: "POST",
        path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        body: {
          spec: { resourceAttributes: { verb, group, resource, namespace } },
        },
      });
      const status = isJsonObject(review) ? review["status"] : undefined;
      assert(isJsonObject(status));
      const what = `${verb} ${resource} in "${namespace}"`;
      assert.equal(status["allowed"], false, what);
    }
  }
});

/** A client of the controller with a token, or that of a pod. */
async function controllerWith(token: string): Promise<KubernetesApi> {
  const folder = await Deno.makeTempDir();
  const { folder: pod } = podOf(cluster, GATEWAY);
  await Deno.copyFile(`${pod}/var/run/gateway/ca.crt`, `${folder}/ca.crt`);
  await Deno.writeTextFile(`${folder}/token`, token);
  return new KubernetesApi(
    readControllerAccess(CONTROLLER, {
      ...{ folder, namespace: "", clock: systemClock },
    }),
  );
}

/** Returns all that a controller delivers at first. */
async function deliveredTo(token: string): Promise<string> {
  using api = await controllerWith(token);
  const response = await api.open({ path: "/v1/configuration" });
  let text = "";
  for await (const line of readLines(response)) {
    if (line.startsWith('{"end"')) break;
    text += `${line}\n`;
  }
  return text;
}

for (const [team = "", other = ""] of [TEAMS, TEAMS.toReversed()]) {
  Deno.test(`the controller delivers to the proxy of ${team} nothing of ${other}`, async () => {
    const { folder } = podOf(cluster, `${team}/gw`);
    const text = await deliveredTo(
      await Deno.readTextFile(`${folder}/var/run/gateway/token`),
    );
    for (
      const own of ["tls", "key", "web", "llm"].map((each) => `${each}-${team}`)
    ) {
      assert(text.includes(`"name":"${own}"`), own);
    }
    assert(text.includes(btoa(`secret-of-${team}`)));
    for (const absent of [other, "unused", "settings"]) {
      assert(!text.includes(absent), absent);
    }
  });
}

Deno.test("the controller delivers nothing to strangers", async () => {
  await cluster.apply(
    object("ServiceAccount", `green/${objectsOf(GATEWAY)}`, {}),
  );
  const account = `${SYSTEM}/${objectsOf(GATEWAY)}`;
  const tokens = [
    ["nonsense", 401],
    [await tokenFor(cluster, account), 401],
    [await tokenFor(cluster, account, "https://elsewhere"), 401],
    [await tokenFor(cluster, `green/${objectsOf(GATEWAY)}`, AUDIENCE), 401],
    [await tokenFor(cluster, `${SYSTEM}/gateway`, AUDIENCE), 403],
  ] as const;
  for (const [token, code] of tokens) {
    using api = await controllerWith(token);
    assert.equal(await statusOf(api, "/v1/configuration"), code);
    assert.equal(await statusOf(api, "/api/v1/secrets"), 404);
  }
});

Deno.test("a proxy without rights serves certificates, keys, policies and endpoints, and their changes", async () => {
  const web = await until("the route", async () => {
    const found = await request("/web");
    return found.text.includes("server of blue") ? found : undefined;
  });
  assert.equal(web.headers.get("x-policy"), "policy of blue");
  assert.match(await embed(), /server of blue.*"Bearer secret-of-blue"/);

  await using next = serve("the next server");
  const startedAt = performance.now();
  await cluster.apply(...serviceAt("blue/web-blue", next.addr.port));
  await until("other endpoints", async () => {
    const found = await request("/web");
    return found.text.includes("the next server") ? true : undefined;
  });
  await print(
    `endpoints after ${Math.round(performance.now() - startedAt)} ms`,
  );

  await cluster.apply(
    ...serviceAt("blue/web-blue", servers[0]?.addr.port ?? 0),
    headerPolicy("blue", "changed"),
  );
  await until("another policy", async () => {
    const { headers } = await request("/web");
    return headers.get("x-policy") === "changed" ? true : undefined;
  });

  await cluster.apply(
    secret("blue/key-blue", { "apiKey": "another-key" }, {
      labels: { "policy.gateway.internal/credentials": "llm" },
    }),
  );
  await until("another-key", async () => {
    return (await embed()).includes("Bearer another-key") ? true : undefined;
  });

  const other = await createAuthority("Another CA");
  await cluster.apply(
    certificateSecret(
      "blue/tls-blue",
      await other.issueServer([hostOf("blue")]),
    ),
  );
  await until("another certificate", async () => {
    const found = await request("/web", other.cert);
    return found.text === "" ? undefined : true;
  });
  await cluster.apply(
    certificateSecret(
      "blue/tls-blue",
      await authority.issueServer([hostOf("blue")]),
    ),
  );
  await until(
    "the first authority",
    async () => (await request("/web")).text === "" ? undefined : true,
  );
});

async function scaleController(replicas: number): Promise<void> {
  await cluster.api.request({
    method: "PATCH",
    path: `/apis/apps/v1/namespaces/${SYSTEM}/deployments/gateway`,
    body: { spec: { replicas } },
    contentType: "application/merge-patch+json",
  });
  await until(`${replicas} controllers`, async () => {
    const pods = await get(
      cluster,
      `/api/v1/namespaces/${SYSTEM}/pods?labelSelector=app.kubernetes.io%2Fname%3Dgateway`,
    );
    return listOf(pods, "items").length === replicas ? true : undefined;
  });
}

Deno.test("without a controller proxies serve what they got last, also after a restart of the container", async () => {
  const { name, folder } = podOf(cluster, GATEWAY);
  const snapshot = `${folder}/var/lib/gateway/snapshot`;
  await until("a snapshot", async () => {
    const text = await Deno.readTextFile(snapshot);
    return text.includes(btoa("another-key")) ? true : undefined;
  });
  await scaleController(0);
  assert.match((await request("/web")).text, /server of blue/);

  // The node makes a pod of the same name, with the volumes of the old one.
  const path = `/api/v1/namespaces/${SYSTEM}/pods/${name}`;
  const before = await get(cluster, path);
  await cluster.api.request({ method: "DELETE", path });
  await until("a new process", async () => {
    const pod = await get(cluster, path);
    const { uid } = isJsonObject(pod?.["metadata"]) ? pod["metadata"] : {};
    const { uid: old } = isJsonObject(before?.["metadata"])
      ? before["metadata"]
      : {};
    return uid !== undefined && uid !== old ? true : undefined;
  });
  await untilProxy(cluster, GATEWAY);
  assert.match(await embed(), /"Bearer another-key"/);

  await scaleController(1);
  await cluster.apply(headerPolicy("blue", "after the outage"));
  await until("changes again", async () => {
    const { headers } = await request("/web");
    return headers.get("x-policy") === "after the outage" ? true : undefined;
  });
});

Deno.test("the servers end", async () => {
  await Promise.all(servers.map((server) => server.shutdown()));
});
