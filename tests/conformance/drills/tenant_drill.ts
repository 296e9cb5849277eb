/** A tenant whose objects are hostile: the gateway goes on, others notice nothing, and each object has its problem in its status. */
import assert from "node:assert/strict";
import { isJsonObject } from "../../../src/base/json.ts";
import {
  ApiError,
  type KubernetesApi,
} from "../../../src/cluster/client/kubernetes_api.ts";
import { POLICY_API_GROUP } from "../../../src/api/schema/group.ts";
import { type Finding, residentMib, sleep } from "../../drills/drill.ts";
import {
  create,
  type DrillCluster,
  type DrillGateway,
  gatewayObjects,
  redirectRoute,
  startDrillGateway,
  until,
} from "./drill_cluster.ts";
import { startLoad } from "./outage_drill.ts";

const PORT = 8080;
/** Of the first gateway; the next one has the next. */
const STATS_PORT = 15_101;
const EVIL = "evil";
const GATEWAY_API = "gateway.networking.k8s.io/v1";
const POLICY_API = `${POLICY_API_GROUP}/v1alpha1`;
const LISTENERS = 64;
const GATEWAYS = 16;
const SETTLE_MS = 3000;

/** A hostile object, and what its status or that of its route has to say; `undefined` where it has no status. */
interface Attack {
  readonly name: string;
  readonly objects: readonly Hostile[];
  /** Object whose status has the problem, and the problem. */
  readonly named?: readonly [plural: string, name: string, problem: RegExp];
}

/** Applies each attack beside a tenant of good faith. */
export async function tenantDrill(cluster: DrillCluster): Promise<Finding[]> {
  const { api } = cluster;
  await create(api, [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: EVIL } },
    ...gatewayObjects(PORT),
    redirectRoute("r", "v0"),
  ]);
  await using gateway = await startDrillGateway(cluster, PORT);
  await gateway.untilTarget("r", "v0");
  const load = startLoad(gateway);
  const before = await residentMib(gateway);
  let rejected = 0;
  let applied = 0;
  for (const attack of attacks()) {
    const refusals = await applyAll(api, attack.objects);
    rejected += refusals.length;
    applied += attack.objects.length - refusals.length;
    await inStep(api, gateway);
    if (attack.named !== undefined && refusals.length === 0) {
      await untilNamed(api, attack.named, attack.name);
    }
  }
  await changeSecrets(api);
  await inStep(api, gateway);
  await sleep(SETTLE_MS);
  const log = await gateway.log();
  assert.doesNotMatch(log, /Cannot write the status/, "status not writable");
  const { sent, lost } = await load.stop();
  assert.equal(lost, 0, "requests of others were lost");
  const memory = await residentMib(gateway);
  const restart = await restartBeside(cluster, gateway);
  return [{
    drill: "hostile tenant",
    figures: {
      objects: applied,
      "rejected by the API server": rejected,
      "requests of others": sent,
      lost,
      "memory before": `${before} MiB`,
      after: `${memory} MiB`,
      "restart beside all of it": restart,
    },
  }];
}

/** A new process beside the objects serves the other tenant, and has its own ports. */
async function restartBeside(
  cluster: DrillCluster,
  gateway: DrillGateway,
): Promise<string> {
  gateway.signal("SIGKILL");
  await until(async () => {
    try {
      await gateway.target("r");
      return false;
    } catch {
      return true;
    }
  });
  await using next = await startDrillGateway(cluster, PORT);
  await next.untilTarget("r", "v2");
  assert.match(await next.stats("/metrics"), /gateway_config_source_up 1/);
  return `${((performance.now() - next.startedAt) / 1000).toFixed(1)} s`;
}

/** An object of the tenant. */
interface Hostile {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
}

function pathOf(
  { apiVersion, kind, metadata: { name, namespace } }: Hostile,
): string {
  const root = apiVersion === "v1" ? "/api" : "/apis";
  const plural = `${kind.toLowerCase()}s`.replace(/([^aeiou])ys$/, "$1ies");
  return `${root}/${apiVersion}/namespaces/${namespace}/${plural}/${name}`;
}

/** Changes the route of the other tenant, which has to apply. */
async function inStep(
  api: KubernetesApi,
  gateway: DrillGateway,
): Promise<void> {
  await create(api, [redirectRoute("r", "v1")]);
  await gateway.untilTarget("r", "v1");
  await create(api, [redirectRoute("r", "v2")]);
  await gateway.untilTarget("r", "v2");
}

/** Applies objects one by one; returns why the API server rejected some. */
async function applyAll(
  api: KubernetesApi,
  objects: readonly Hostile[],
): Promise<readonly string[]> {
  const refusals: string[] = [];
  for (const object of objects) {
    try {
      await api.apply(pathOf(object), "drill", object);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      refusals.push(error.message);
    }
  }
  return refusals;
}

async function untilNamed(
  api: KubernetesApi,
  [plural, name, problem]: NonNullable<Attack["named"]>,
  attack: string,
): Promise<void> {
  const group = plural.startsWith("gatewayp") ? POLICY_API : GATEWAY_API;
  const path = `/apis/${group}/namespaces/${EVIL}/${plural}/${name}`;
  let last = "";
  try {
    await until(
      async () => {
        const object = await api.request({ path });
        last = JSON.stringify(
          isJsonObject(object) ? object["status"] ?? null : null,
        );
        return problem.test(last);
      },
      50,
      15_000,
    );
  } catch {
    throw new Error(`${attack}: the status is ${last.slice(0, 2000)}`);
  }
}

function named(kind: string, name: string, spec: object, api = GATEWAY_API) {
  return { apiVersion: api, kind, metadata: { name, namespace: EVIL }, spec };
}

function route(name: string, rule: object, more: object = {}) {
  return named("HTTPRoute", name, {
    parentRefs: [{ name: "gw", namespace: "default" }],
    hostnames: ["evil.example.com"],
    rules: [{ matches: [{ path: { value: `/${name}` } }], ...rule }],
    ...more,
  });
}

function policyFor(name: string, traffic: object) {
  return named("GatewayPolicy", name, {
    targetRefs: [{
      group: "gateway.networking.k8s.io",
      kind: "HTTPRoute",
      name,
    }],
    traffic,
  }, POLICY_API);
}

function service(name: string, spec: object) {
  return named("Service", name, spec, "v1");
}

function slice(name: string, of: string, more: object) {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name,
      namespace: EVIL,
      labels: { "kubernetes.io/service-name": of },
    },
    addressType: "IPv4",
    endpoints: [],
    ports: [],
    ...more,
  };
}

function backend(name: string, spec: object) {
  return named("GatewayBackend", name, spec, POLICY_API);
}

function toBackend(name: string) {
  return {
    backendRefs: [{ group: POLICY_API_GROUP, kind: "GatewayBackend", name }],
  };
}

function secret(name: string, cert: string, key: string) {
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/tls",
    metadata: { name, namespace: EVIL },
    data: { "tls.crt": btoa(cert), "tls.key": btoa(key) },
  };
}

function gateway(name: string, listeners: readonly object[]) {
  return named("Gateway", name, { gatewayClassName: "gw", listeners });
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = { a: [value] };
  return value;
}

/** Listens on ports of its own. */
function manyListeners(): Hostile[] {
  return Array.from(
    { length: GATEWAYS },
    (_, g) =>
      gateway(
        `many${g}`,
        Array.from({ length: LISTENERS }, (_, l) => ({
          name: `l${l}`,
          port: 20_000 + g * LISTENERS + l,
          protocol: "HTTP",
        })),
      ),
  );
}

function attacks(): readonly Attack[] {
  const long = "x".repeat(4000);
  return [
    {
      name: "huge route with slow expressions",
      objects: [
        named("HTTPRoute", "huge", {
          parentRefs: [{ name: "gw", namespace: "default" }],
          rules: Array.from({ length: 16 }, (_, r) => ({
            matches: Array.from({ length: 8 }, (_, m) => ({
              path: { type: "PathPrefix", value: `/huge/${r}/${m}` },
              headers: Array.from({ length: 16 }, (_, h) => ({
                type: "RegularExpression",
                name: `x-${h}`,
                value: `(a+)+$|${long.slice(0, 300)}${h}`,
              })),
            })),
          })),
        }),
      ],
    },
    {
      name: "invalid in all places",
      objects: [
        route("wrong", {
          filters: Array.from({ length: 16 }, (_, i) => ({
            type: "RequestHeaderModifier",
            requestHeaderModifier: {
              set: Array.from({ length: 16 }, (_, k) => ({
                name: `${"n".repeat(200)}${i}-${k}`,
                value: "é😀".repeat(500),
              })),
            },
          })),
        }),
      ],
      named: ["httproutes", "wrong", /"Accepted","status":"False"|False/],
    },
    {
      name: "message cut within a character",
      objects: [
        route("emoji", {}),
        policyFor("emoji", {
          authorization: {
            policy: {
              matchExpressions: [`${"a".repeat(20)}${"😀".repeat(80)}`],
            },
          },
        }),
      ],
      named: ["gatewaypolicies", "emoji", /"status":"False"/],
    },
    {
      name: "deep expression",
      objects: [
        route("deep", {}),
        policyFor("deep", {
          authorization: {
            policy: {
              matchExpressions: [
                `${"(".repeat(1500)}true${")".repeat(1500)}`,
                `${"!".repeat(3000)}true`,
                `${"[".repeat(1500)}${"]".repeat(1500)} == []`,
              ],
            },
          },
        }),
      ],
      named: ["gatewaypolicies", "deep", /"status":"False"/],
    },
    {
      name: "deep fields",
      objects: [
        backend("deep", {
          llm: { provider: "OpenAI", defaults: { x: nested(2000) } },
        }),
        route("deepfields", toBackend("deep")),
      ],
    },
    {
      name: "odd names",
      objects: [
        backend("constructor", { static: { host: "127.0.0.1", port: 15101 } }),
        service("constructor", { ports: [{ port: 80 }] }),
        route("constructor", toBackend("constructor")),
        route("proto", {
          name: "constructor",
          matches: [{
            headers: [{ name: "__proto__", value: "constructor" }],
            queryParams: [{ name: "__proto__", value: "constructor" }],
          }],
          filters: [{
            type: "RequestHeaderModifier",
            requestHeaderModifier: {
              set: [{ name: "constructor", value: "__proto__" }],
              remove: ["__proto__"],
            },
          }],
        }),
        route("parents", {}, {
          parentRefs: [
            { name: "../../../etc/passwd", namespace: "default" },
            { name: "__proto__", namespace: "default" },
            { name: "gw", namespace: "default", sectionName: "constructor" },
          ],
        }),
        named("GatewayPolicy", "proto", {
          targetRefs: [{
            group: "gateway.networking.k8s.io",
            kind: "HTTPRoute",
            name: "constructor",
          }],
          traffic: {
            transformation: {
              request: { set: [{ name: "__proto__", value: "'x'" }] },
            },
          },
        }, POLICY_API),
      ],
      named: [
        "httproutes",
        "parents",
        /"status":"False".*constructor|constructor.*"status":"False"/,
      ],
    },
    {
      name: "listeners of another tenant",
      objects: [
        gateway("same", [
          { name: "http", port: PORT, protocol: "HTTP" },
          {
            name: "https",
            port: PORT + 1,
            protocol: "HTTPS",
            hostname: "a.b",
            tls: { certificateRefs: [{ name: "x", namespace: "default" }] },
          },
          { name: "stats", port: STATS_PORT, protocol: "HTTP" },
          { name: "next", port: STATS_PORT + 1, protocol: "HTTP" },
          { name: "tcp", port: PORT, protocol: "TCP" },
          { name: "own", port: PORT, protocol: "example.com/own" },
        ]),
        named("HTTPRoute", "steal", {
          parentRefs: [{ name: "same" }],
          rules: [{
            matches: [{ path: { type: "Exact", value: "/r" } }],
            filters: [{
              type: "RequestRedirect",
              requestRedirect: { hostname: "stolen.example.com" },
            }],
          }],
        }),
      ],
      named: ["gateways", "same", /RefNotPermitted/],
    },
    {
      name: "routes of another tenant",
      objects: [
        named("HTTPRoute", "overlap", {
          parentRefs: [{ name: "gw", namespace: "default" }],
          rules: [{
            matches: [{ path: { type: "Exact", value: "/r" } }],
            filters: [{
              type: "RequestRedirect",
              requestRedirect: { hostname: "stolen.example.com" },
            }],
          }],
        }),
      ],
    },
    {
      name: "references without grants",
      objects: [
        route("foreign", {
          backendRefs: [{ name: "web", namespace: "default", port: 80 }],
        }),
        backend("key", {
          llm: {
            provider: "OpenAI",
            credentials: { secretRef: { name: "key", namespace: "default" } },
          },
        }),
        route("key", toBackend("key")),
        route("login", {}),
        policyFor("login", {
          jwtAuthentication: {
            providers: [{
              issuer: "http://127.0.0.1:15101",
              jwks: { url: `http://localhost:${STATS_PORT}/metrics` },
            }],
            mcp: {
              issuerMode: "Proxied",
              clientId: "c",
              clientSecretRef: { name: "key", namespace: "default" },
            },
          },
        }),
      ],
      named: ["httproutes", "foreign", /RefNotPermitted/],
    },
    {
      name: "login secret without grant",
      objects: [],
      named: ["gatewaypolicies", "login", /no ReferenceGrant/],
    },
    {
      name: "Services without ports",
      objects: [
        service("none", { clusterIP: "None" }),
        service("external", {
          type: "ExternalName",
          externalName: "127.0.0.1",
        }),
        service("udp", { ports: [{ port: 80, protocol: "UDP" }] }),
        route("none", { backendRefs: [{ name: "none", port: 80 }] }),
        route("external", { backendRefs: [{ name: "external", port: 80 }] }),
        route("udp", { backendRefs: [{ name: "udp", port: 80 }] }),
      ],
      named: ["httproutes", "external", /"status":"False"/],
    },
    {
      name: "odd endpoints",
      objects: [
        service("odd", { clusterIP: "None", ports: [{ name: "p", port: 80 }] }),
        route("odd", { backendRefs: [{ name: "odd", port: 80 }] }),
        slice("odd-1", "odd", { endpoints: [], ports: null }),
        slice("odd-2", "odd", {
          endpoints: [{ addresses: ["10.0.0.1"] }],
          ports: [{ name: "p" }],
        }),
        slice("odd-3", "odd", {
          addressType: "IPv6",
          endpoints: [{ addresses: ["2001:db8::1"], conditions: {} }],
          ports: [{ name: "p", port: 1 }, { name: "q", port: 2 }],
        }),
        slice("odd-4", "odd", {
          addressType: "FQDN",
          endpoints: [{ addresses: ["localhost"] }],
          ports: [{ name: "p", port: 15101 }],
        }),
        slice("odd-5", "constructor", {
          endpoints: Array.from({ length: 1000 }, (_, i) => ({
            addresses: [`10.9.${i >> 8}.${i & 255}`],
          })),
          ports: [{ name: "", port: 1 }],
        }),
        slice("odd-6", "no-such-service", { endpoints: [], ports: [] }),
        slice("odd-7", "odd", {
          endpoints: [{ addresses: ["127.0.0.1"] }],
          ports: [{ name: "p", port: 15101 }],
        }),
      ],
    },
    {
      name: "certificate",
      objects: [
        secret("tls", "not a certificate", "not a key"),
        gateway("tls", [
          {
            name: "bad",
            port: 8443,
            protocol: "HTTPS",
            tls: { certificateRefs: [{ name: "tls" }] },
          },
          { name: "good", port: 8444, protocol: "HTTP" },
        ]),
      ],
      named: ["gateways", "tls", /InvalidCertificateRef/],
    },
    { name: "1 024 listeners", objects: manyListeners() },
    {
      name: "policies of many gateways",
      objects: [
        service("tls", { clusterIP: "None", ports: [{ port: 443 }] }),
        named("HTTPRoute", "tls", {
          parentRefs: Array.from(
            { length: GATEWAYS },
            (_, g) => ({ name: `many${g}` }),
          ).concat([{ name: "gw" }, { name: "same" }]),
          rules: [{ backendRefs: [{ name: "tls", port: 443 }] }],
        }),
        named("BackendTLSPolicy", "tls", {
          targetRefs: [{ group: "", kind: "Service", name: "tls" }],
          validation: { hostname: "a.b", wellKnownCACertificates: "System" },
        }),
      ],
      named: ["backendtlspolicies", "tls", /"Accepted"/],
    },
  ];
}

/** Replaces a good certificate by garbage again and again. */
async function changeSecrets(api: KubernetesApi): Promise<void> {
  for (
    const text of [
      "",
      "\u0000",
      "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      "x".repeat(500_000),
    ]
  ) {
    await applyAll(api, [secret("tls", text, text)]);
    await sleep(300);
  }
}
