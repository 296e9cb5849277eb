import assert from "node:assert/strict";
import { type IncomingMessage, request } from "node:http";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { systemClock } from "../../src/base/clock.ts";
import { readLines } from "../../src/cluster/client/api_responses.ts";
import { readControllerAccess } from "../../src/cluster/client/cluster_access.ts";
import {
  ApiError,
  KubernetesApi,
} from "../../src/cluster/client/kubernetes_api.ts";
import { createAuthority } from "../harness/login/certificates.ts";
import { BRIDGE_ADDRESS, SERVERS_ADDRESS } from "./api_server.ts";
import { install, pathOf } from "./install.ts";
import {
  certificateSecret,
  object,
  podOf,
  secret,
  serviceAt,
  startManagedCluster,
  SYSTEM,
  toBackend,
  tokenFor,
  untilProxy,
} from "./managed_cluster.ts";
import { attacks, EVIL, ISSUER, SHARED, VICTIM } from "./tenants/attacks.ts";
import { get, print, until } from "./test_cluster.ts";

const RBAC = "rbac.authorization.k8s.io";
const KEY = "the-key-of-the-victim";
const HOST = "victim.example.com";

const cluster = await startManagedCluster([EVIL, VICTIM, SHARED.namespace]);
const authority = await createAuthority();

/** Requests that came where no tenant's may. */
const reached: string[] = [];
/** In place of the API server, whose address it has. */
const apiServer = Deno.serve(
  { hostname: BRIDGE_ADDRESS, port: 0, onListen() {} },
  ({ url }) => {
    reached.push(url);
    return new Response("reached");
  },
);
/** Backend of the victim; nobody but its own clients may reach it. */
const backend = Deno.serve(
  { hostname: SERVERS_ADDRESS, port: 0, onListen() {} },
  ({ url, headers }) => {
    if (headers.get("x-client") !== "victim") reached.push(url);
    return new Response("of the victim");
  },
);

const { publicKey } = await crypto.subtle.generateKey(
  { name: "ECDSA", namedCurve: "P-256" },
  true,
  ["sign", "verify"],
);
const keys = [{
  ...await crypto.subtle.exportKey("jwk", publicKey),
  ...{ kid: "1", alg: "ES256", use: "sig", key_ops: ["verify"] },
}];

const parents = [{ name: "gw" }, SHARED];
const victims = [
  certificateSecret(`${VICTIM}/tls`, await authority.issueServer([HOST])),
  secret(`${VICTIM}/key`, { apiKey: KEY }, {
    labels: { "policy.gateway.internal/credentials": "llm" },
  }),
  object("ConfigMap", `${VICTIM}/ca`, { data: { "ca.crt": authority.cert } }),
  object("Gateway", `${VICTIM}/gw`, {
    spec: {
      gatewayClassName: "gateway",
      listeners: [
        { name: "http", port: 80, protocol: "HTTP", hostname: HOST },
        {
          ...{ name: "https", port: 443, protocol: "HTTPS", hostname: HOST },
          tls: { certificateRefs: [{ name: "tls" }] },
        },
      ],
    },
  }),
  object("Gateway", `${SHARED.namespace}/${SHARED.name}`, {
    spec: {
      gatewayClassName: "gateway",
      listeners: [{
        ...{ name: "http", port: 80, protocol: "HTTP" },
        allowedRoutes: { namespaces: { from: "All" } },
      }],
    },
  }),
  ...serviceAt(`${VICTIM}/web`, backend.addr.port),
  object("HTTPRoute", `${VICTIM}/web`, {
    spec: {
      parentRefs: parents,
      hostnames: [HOST],
      rules: [{
        matches: [{ path: { value: "/web" } }],
        backendRefs: [{ name: "web", port: 80 }],
      }],
    },
  }),
  object("GatewayBackend", `${VICTIM}/llm`, {
    spec: {
      llm: {
        provider: "OpenAICompatible",
        host: `${SERVERS_ADDRESS}:${backend.addr.port}`,
        plainText: true,
        credentials: { secretRef: { name: "key" } },
      },
    },
  }),
  object("GatewayBackend", `${VICTIM}/idp`, {
    spec: {
      static: { host: SERVERS_ADDRESS, port: backend.addr.port },
      protocol: "HTTP2",
    },
  }),
  object("HTTPRoute", `${VICTIM}/llm`, {
    spec: {
      parentRefs: parents,
      hostnames: [HOST],
      rules: [{
        matches: [{ path: { value: "/v1" } }],
        backendRefs: [toBackend("llm")],
      }],
    },
  }),
  object("GatewayPolicy", `${VICTIM}/web`, {
    spec: {
      targetRefs: [{
        ...{ group: "gateway.networking.k8s.io", kind: "HTTPRoute" },
        name: "web",
      }],
      traffic: {
        responseHeaderModifier: { set: [{ name: "x-policy", value: "on" }] },
      },
    },
  }),
  object("GatewayPolicy", `${VICTIM}/llm`, {
    spec: {
      targetRefs: [{
        ...{ group: "gateway.networking.k8s.io", kind: "HTTPRoute" },
        name: "llm",
      }],
      traffic: {
        jwtAuthentication: {
          providers: [{
            ...{ issuer: ISSUER, audiences: ["llm"] },
            jwks: { inline: JSON.stringify({ keys }) },
          }],
        },
      },
    },
  }),
];
await cluster.apply(...victims);
const own = await untilProxy(cluster, `${VICTIM}/gw`);
const shared = await untilProxy(
  cluster,
  `${SHARED.namespace}/${SHARED.name}`,
);

/** Rights of the tenant: everything in its namespace. */
await cluster.apply(
  object("ServiceAccount", `${EVIL}/tenant`, {}),
  {
    ...{ apiVersion: `${RBAC}/v1`, kind: "RoleBinding" },
    metadata: { name: "tenant", namespace: EVIL },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "tenant", namespace: EVIL }],
  },
);
const token = await tokenFor(cluster, `${EVIL}/tenant`);
const tenant = new KubernetesApi({
  ...cluster.api.access,
  token: () => Promise.resolve(token),
});

/** Sends a request to a host; `fetch` would send the address. */
async function requestAt(
  hostname: string,
  host: string,
  path: string,
): Promise<string> {
  const headers = { host, "x-client": host === HOST ? "victim" : "evil" };
  const { promise, resolve, reject } = Promise.withResolvers<
    IncomingMessage
  >();
  request({ hostname, port: 80, path, headers, agent: false }, resolve)
    .on("error", reject).end();
  const response = await promise;
  const { statusCode, headers: { "x-policy": policy } } = response;
  const body = await Array.fromAsync(response.setEncoding("utf8"));
  return `${statusCode} ${policy} ${body.join("")}`;
}

/** Requests of the victim's clients, all the time. */
class Clients {
  readonly results = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #running = Promise.all([own, shared].map((at) => this.#send(at)));

  async #send(address: string): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const result = await requestAt(address, HOST, "/web").catch(String);
      this.results.set(result, (this.results.get(result) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

const GOOD = "200 on of the victim";

/** Waits until a gateway responds to the victim's clients like that. */
async function untilServed(address: string, expected: string): Promise<void> {
  let last = "";
  await until(`"${expected}" from ${address}`, async () => {
    last = await requestAt(address, HOST, "/web").catch(String);
    return last === expected ? true : undefined;
  }).catch(async (error) => {
    await print(last);
    throw error;
  });
}

for (const address of [own, shared]) await untilServed(address, GOOD);

async function statusOf(each: ReturnType<typeof object>): Promise<JsonObject> {
  const found = await get(cluster, pathOf(each));
  return isJsonObject(found?.["status"]) ? found["status"] : {};
}

/** The statuses of all but the tenant. Others may attach routes to the shared gateway, which counts them. */
async function statuses(): Promise<string> {
  const found: string[] = [];
  for (const each of victims) {
    const status = JSON.stringify(await statusOf(each));
    const isShared = each.metadata.namespace === SHARED.namespace;
    const { name } = each.metadata;
    found.push(
      `${each.kind} ${name} ${
        isShared ? status.replaceAll(/"attachedRoutes":\d+/g, "") : status
      }`,
    );
  }
  return found.join("\n");
}

let seen = "";
const before = await until("statuses", async () => {
  const first = await statuses();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const isSettled = first === await statuses() &&
    !/"status":"Unknown"|"reason":"(Pending|AddressNotAssigned)"/.test(first);
  seen = first;
  return isSettled ? first : undefined;
}).catch(async (error) => {
  await print(seen);
  throw error;
});
const clients = new Clients();

/** Applies an object as the tenant; returns why the API server rejects it. */
async function applyAsTenant(each: object): Promise<string | undefined> {
  try {
    await install(tenant, [JSON.stringify(each)], { isStrict: true });
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

Deno.test(`the suite has ${attacks.length} attacks`, () => {
  assert(attacks.length >= 40);
});

for (const attack of attacks) {
  Deno.test(`a tenant cannot ${attack.tries}`, async () => {
    const rejections: (string | undefined)[] = [];
    for (const each of attack.objects) {
      rejections.push(await applyAsTenant(each));
    }
    const isRejected = rejections.at(-1) !== undefined ||
      attack.isRejected === true && rejections.some((each) => each);
    assert.equal(isRejected, attack.isRejected === true, String(rejections));

    if (attack.status !== undefined) {
      const [kind, name, says] = attack.status;
      const path = pathOf(object(kind, `${EVIL}/${name}`, {}));
      let last = "";
      await until(`${kind} ${name} says ${says}`, async () => {
        const found = await get(cluster, path);
        last = JSON.stringify(found?.["status"] ?? null);
        return says.test(last) ? true : undefined;
      }).catch(async (error) => {
        await print(last.slice(0, 2000));
        throw error;
      });
    }
    if (attack.request !== undefined) {
      const [requested, status] = attack.request;
      let last = "";
      await until(`${requested} gets ${status}`, async () => {
        last = await requestAt(shared, "evil.example.com", requested);
        return last.startsWith(`${status} `) ? true : undefined;
      }).catch(async (error) => {
        await print(last);
        throw error;
      });
    }
    assert.deepEqual(reached, []);
    assert.equal(await statuses(), before);
    assert.deepEqual([...clients.results.keys()], [GOOD]);
  });
}

/** Returns all that the controller delivers to a pod at first. */
async function deliveredTo(folder: string): Promise<string> {
  using api = new KubernetesApi(
    readControllerAccess(`gateway-controller.${SYSTEM}.svc:15030`, {
      folder: `${folder}/var/run/gateway`,
      ...{ namespace: "", clock: systemClock },
    }),
  );
  const response = await api.open({ path: "/v1/configuration" });
  let text = "";
  for await (const line of readLines(response)) {
    if (line.startsWith('{"end"')) break;
    text += `${line}\n`;
  }
  return text;
}

Deno.test("the proxies of the tenant got nothing of another", async () => {
  const pods = `${cluster.directory}/pods/${SYSTEM}`;
  const names = (await Array.fromAsync(
    Deno.readDir(pods),
    ({ name }) => name,
  )).filter((name) => name.startsWith(`${EVIL}-`));
  assert(names.length >= 3, String(names));
  for (const name of names) {
    const text = await deliveredTo(`${pods}/${name}`);
    assert(text.includes(`"namespace":"${EVIL}"`), name);
    assert(!text.includes(btoa(KEY)), name);
    assert.doesNotMatch(text, /"namespace":"victim","resourceVersion"/);
  }
});

Deno.test("after all of it, changes of the victim are in force, and new processes serve it", async () => {
  await cluster.apply({
    ...object("GatewayPolicy", `${VICTIM}/web`, {}),
    spec: {
      targetRefs: [{
        ...{ group: "gateway.networking.k8s.io", kind: "HTTPRoute" },
        name: "web",
      }],
      traffic: {
        responseHeaderModifier: { set: [{ name: "x-policy", value: "new" }] },
      },
    },
  });
  for (const address of [own, shared]) {
    await untilServed(address, "200 new of the victim");
  }
  await clients.stop();
  const { name } = podOf(cluster, `${VICTIM}/gw`);
  const pod = `/api/v1/namespaces/${SYSTEM}/pods/${name}`;
  await cluster.api.request({ method: "DELETE", path: pod });
  await until("another process", async () => {
    const next = await untilProxy(cluster, `${VICTIM}/gw`);
    return next !== own &&
        (await requestAt(next, HOST, "/web")).startsWith("200 new")
      ? true
      : undefined;
  });
  const sent = [...clients.results.values()].reduce((a, b) => a + b, 0);
  await print(`${sent} requests of the victim, 0 lost`);
  assert.deepEqual(reached, []);
  tenant[Symbol.dispose]();
  await Promise.all([apiServer.shutdown(), backend.shutdown()]);
});
