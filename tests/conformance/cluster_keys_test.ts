/** Keys and teams that are objects of a cluster. */
import assert from "node:assert/strict";
import { valueAt } from "../../src/base/json.ts";
import { statusOf } from "../harness/keys/stored_keys.ts";
import { RedisServer } from "../harness/servers/redis_server.ts";
import { SERVERS_ADDRESS } from "./api_server.ts";
import {
  object,
  secret,
  startManagedCluster,
  untilProxy,
} from "./managed_cluster.ts";
import { condition, get, print, until } from "./test_cluster.ts";

const LABEL = { "policy.gateway.internal/credentials": "key" };
const OWN_KEY = "sk-1234567890abcdefghij";

const cluster = await startManagedCluster(["blue", "red"], async () => {
  const { url } = await until(
    "the address of servers",
    () => RedisServer.start(SERVERS_ADDRESS),
  );
  return [`config.kv.redis=${url}`, "keys.secretNamespaces={blue}"];
});

await cluster.apply(
  object("Gateway", "blue/gw", {
    spec: {
      gatewayClassName: "gateway",
      listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
    },
  }),
  object("HTTPRoute", "blue/api", {
    spec: { parentRefs: [{ name: "gw" }], rules: [{}] },
  }),
  object("GatewayPolicy", "blue/keys", {
    spec: {
      targetRefs: [{
        ...{ group: "gateway.networking.k8s.io", kind: "HTTPRoute" },
        name: "api",
      }],
      traffic: {
        apiKeyAuthentication: { stored: true },
        directResponse: { status: 200, body: "ok" },
      },
    },
  }),
);
const origin = `http://${await untilProxy(cluster, "blue/gw")}`;

function pathOf(plural: string, path: string): string {
  const [namespace, name] = path.split("/");
  return `/apis/policy.gateway.internal/v1alpha1/namespaces/${namespace}/${plural}/${name}`;
}

function secretPath(path: string): string {
  const [namespace, name] = path.split("/");
  return `/api/v1/namespaces/${namespace}/secrets/${name}`;
}

function remove(path: string) {
  return cluster.api.request({ method: "DELETE", path });
}

/** Waits for the condition of a key to be so. */
function untilAccepted(path: string, expected: RegExp): Promise<string> {
  return until(`${path} ${expected}`, async () => {
    const key = await get(cluster, pathOf("gatewaykeys", path));
    const found = condition(key, "Accepted") ?? "";
    return expected.test(found) ? found : undefined;
  });
}

/** Returns the key in a Secret, once there is another than `before`. */
function untilKey(path: string, before = ""): Promise<string> {
  return until(`a key in ${path}`, async () => {
    const data = valueAt(await get(cluster, secretPath(path)), "data", "key");
    const key = typeof data === "string" ? atob(data) : "";
    return key === "" || key === before ? undefined : key;
  });
}

/** Waits for the status of a request; prints how long it took. */
async function untilStatus(key: string, status: number): Promise<void> {
  const startedAt = performance.now();
  await until(
    `status ${status}`,
    async () => await statusOf(origin, key) === status ? true : undefined,
  );
  await print(
    `  ${status} after ${Math.round(performance.now() - startedAt)} ms`,
  );
}

Deno.test("a key of a cluster has a Secret, and is in force at the proxies", async () => {
  const team = object("GatewayTeam", "blue/ai", {
    spec: { budgets: [{ requests: 1000, unit: "Days" }] },
  });
  await cluster.apply(
    object("GatewayKey", "blue/ci", { spec: { team: "ai", overlap: "1h" } }),
  );
  assert.equal(
    await untilAccepted("blue/ci", /^False/),
    'False/Invalid: the team "blue.ai" does not exist',
  );
  await cluster.apply(team);
  await untilAccepted("blue/ci", /^True\/Accepted: $/);
  const key = await untilKey("blue/ci");
  await untilStatus(key, 200);
  const { status } = await get(cluster, pathOf("gatewaykeys", "blue/ci")) ?? {};
  assert.equal(valueAt(status, "id"), "blue.ci");

  await remove(secretPath("blue/ci"));
  const next = await untilKey("blue/ci", key);
  await untilStatus(next, 200);
  assert.equal(await statusOf(origin, key), 200, "within the overlap");

  await cluster.apply(
    object("GatewayTeam", "blue/ai", { spec: { suspended: true } }),
  );
  await untilStatus(next, 401);
  await cluster.apply(
    object("GatewayTeam", "blue/ai", { spec: { suspended: false } }),
  );
  await untilStatus(next, 200);

  await remove(pathOf("gatewaykeys", "blue/ci"));
  await untilStatus(next, 401);
});

Deno.test("a key comes from a Secret, has the restrictions of its object, and comes back with it", async () => {
  await cluster.apply(
    secret("blue/own", { key: OWN_KEY }, { labels: LABEL }),
    object("GatewayKey", "blue/own", { spec: {} }),
  );
  await untilStatus(OWN_KEY, 200);
  await cluster.apply(
    object("GatewayKey", "blue/own", {
      spec: { allow: { routes: ["other"] } },
    }),
  );
  await untilStatus(OWN_KEY, 403);
  await cluster.apply(
    object("GatewayKey", "blue/own", { spec: { allow: { routes: ["a*"] } } }),
  );
  await untilStatus(OWN_KEY, 200);
  await cluster.apply(
    object("GatewayKey", "blue/own", {
      spec: { expiresAt: "2020-01-01T00:00:00Z" },
    }),
  );
  await untilStatus(OWN_KEY, 401);
  await remove(pathOf("gatewaykeys", "blue/own"));
  await cluster.apply(object("GatewayKey", "blue/own", { spec: {} }));
  await untilStatus(OWN_KEY, 200);
  await remove(pathOf("gatewaykeys", "blue/own"));
  await untilStatus(OWN_KEY, 401);
});

Deno.test("keys of a namespace are for its own routes, and keys of the administrator for all", async () => {
  const foreign = `${OWN_KEY}-red`;
  const central = `${OWN_KEY}-system`;
  await cluster.apply(
    secret("red/own", { key: foreign }, { labels: LABEL }),
    object("GatewayKey", "red/own", { spec: {} }),
    secret("gateway-system/own", { key: central }, { labels: LABEL }),
    object("GatewayKey", "gateway-system/own", { spec: {} }),
    object("GatewayKey", "red/wide", {
      spec: { secretName: "own", allow: { routes: ["blue/api"] } },
    }),
  );
  await untilStatus(central, 200);
  await untilStatus(foreign, 403);
  assert.match(
    await untilAccepted("red/wide", /^False/),
    /expected names of routes of this namespace, got "blue\/api"$/,
  );
});

Deno.test("a key is not accepted without a Secret that the gateway may make or read", async () => {
  await cluster.apply(
    object("GatewayKey", "red/none", { spec: {} }),
    secret("blue/plain", { key: OWN_KEY }),
    object("GatewayKey", "blue/plain", { spec: {} }),
    secret("blue/short", { key: "short" }, { labels: LABEL }),
    object("GatewayKey", "blue/short", { spec: {} }),
  );
  assert.match(
    await untilAccepted("red/none", /^False/),
    /^False\/SecretNotFound: .* may not create one: create it, or add the namespace to keys\.secretNamespaces of the chart$/,
  );
  assert.match(
    await untilAccepted("blue/plain", /^False/),
    /^False\/SecretNotFound: the Secret blue\/plain has not the label policy\.gateway\.internal\/credentials: key/,
  );
  assert.match(
    await untilAccepted("blue/short", /^False/),
    /^False\/InvalidSecret: .* at least 20 printable characters/,
  );
});
