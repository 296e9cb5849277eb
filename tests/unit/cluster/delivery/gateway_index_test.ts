import assert from "node:assert/strict";
import type { Resource } from "../../../../src/api/resources/resource_set.ts";
import { GatewayIndex } from "../../../../src/cluster/delivery/gateway_index.ts";
import { createCollections } from "../../../../src/cluster/source/collections.ts";
import { readObject } from "../../../../src/cluster/source/read_objects.ts";
import { POLICY_API_GROUP } from "../../../../src/api/schema/group.ts";
import { schemasOf } from "../../../../src/gateway/candidate/candidate.ts";

const ROUTES = "gateway.networking.k8s.io";
const collections = createCollections(POLICY_API_GROUP);
const options = {
  schemas: schemasOf().kinds,
  policyApiGroup: POLICY_API_GROUP,
  isManaged: true,
};

/** Reads an object as from a cluster, such as `read("Secret", "team/key", {})`. */
function read(kind: string, path: string, fields: object): Resource {
  const collection = collections.find((each) => each.kind === kind);
  assert(collection !== undefined, kind);
  const [namespace = "", name = ""] = path.split("/");
  const { resource, rejections } = readObject(
    {
      ...fields,
      ...{ kind, apiVersion: collection.apiVersion },
      metadata: { name, ...(namespace !== "" && { namespace }) },
    },
    collection,
    options,
  );
  assert(resource !== undefined, JSON.stringify(rejections));
  return resource;
}

function gateway(path: string, more: object = {}, tls: object = {}) {
  const listener = Object.keys(tls).length === 0
    ? { name: "a", port: 80, protocol: "HTTP" }
    : { name: "a", port: 443, protocol: "HTTPS", tls };
  return read("Gateway", path, {
    spec: {
      gatewayClassName: "class",
      listeners: [{ ...listener, ...more }],
    },
  });
}

function route(path: string, parent: object, backend?: object) {
  return read("HTTPRoute", path, {
    spec: {
      parentRefs: [parent],
      ...(backend !== undefined && { rules: [{ backendRefs: [backend] }] }),
    },
  });
}

const fromAll = { allowedRoutes: { namespaces: { from: "All" } } };
const toLlm = { group: POLICY_API_GROUP, kind: "GatewayBackend", name: "llm" };

function llm(path: string, secretRef: object) {
  return read("GatewayBackend", path, {
    spec: { llm: { provider: "OpenAI", credentials: { secretRef } } },
  });
}

function policy(path: string, target: object, traffic: object) {
  return read("GatewayPolicy", path, {
    spec: { targetRefs: [target], traffic },
  });
}

function grant(namespace: string, from: object, to: object) {
  return read("ReferenceGrant", `${namespace}/grant`, {
    spec: { from: [from], to: [to] },
  });
}

/** The resources of a gateway's part, sorted. */
function partOf(name: string, resources: readonly Resource[]) {
  const index = new GatewayIndex(
    resources.map((resource) => ({
      ...{ key: resource.kind, resource },
      object: { metadata: { name: resource.metadata.name } },
    })),
  );
  const { entries, services } = index.partOf(name);
  const names = Array.from(
    entries,
    ({ resource: { kind, metadata } }) =>
      `${kind} ${metadata.namespace}/${metadata.name}`,
  );
  return { names: names.toSorted(), services: [...services] };
}

Deno.test("proxies get their gateway with its routes, policies, backends, Services, Secrets and CAs", () => {
  const { names, services } = partOf("team/gw", [
    gateway("team/gw", {}, { certificateRefs: [{ name: "tls" }] }),
    read("Namespace", "/team", {}),
    read("Namespace", "/default", {}),
    read("Secret", "team/tls", { type: "kubernetes.io/tls", data: {} }),
    read("Secret", "team/key", { data: {} }),
    read("ConfigMap", "team/ca", { data: {} }),
    route("team/a", { name: "gw" }, { name: "web", port: 80 }),
    route("team/b", { name: "gw" }, toLlm),
    llm("team/llm", { name: "key" }),
    read("Service", "team/web", { spec: { ports: [{ port: 80 }] } }),
    policy("team/p", { kind: "HTTPRoute", name: "a" }, { timeouts: {} }),
    read("BackendTLSPolicy", "team/tls", {
      spec: {
        targetRefs: [{ group: "", kind: "Service", name: "web" }],
        validation: {
          hostname: "web",
          caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "ca" }],
        },
      },
    }),
  ]);
  assert.deepEqual(names, [
    "BackendTLSPolicy team/tls",
    "ConfigMap team/ca",
    "Gateway team/gw",
    "GatewayBackend team/llm",
    "GatewayPolicy team/p",
    "HTTPRoute team/a",
    "HTTPRoute team/b",
    "Namespace default/team",
    "Secret team/key",
    "Secret team/tls",
    "Service team/web",
  ]);
  assert.deepEqual(services, ["team/web"]);
});

Deno.test("proxies get nothing of other gateways, not in the same namespace either", () => {
  const { names } = partOf("team/gw", [
    gateway("team/gw"),
    gateway("team/other", {}, { certificateRefs: [{ name: "tls" }] }),
    read("Secret", "team/tls", { type: "kubernetes.io/tls", data: {} }),
    read("Secret", "team/key", { data: {} }),
    read("ConfigMap", "team/settings", { data: {} }),
    route("team/a", { name: "other" }, toLlm),
    llm("team/llm", { name: "key" }),
    read("Service", "team/web", { spec: { ports: [{ port: 80 }] } }),
    policy("team/p", { kind: "HTTPRoute", name: "a" }, { timeouts: {} }),
    policy("team/q", { kind: "Gateway", name: "other" }, { timeouts: {} }),
  ]);
  assert.deepEqual(names, ["Gateway team/gw"]);
});

Deno.test("a reference to another namespace brings nothing without a ReferenceGrant", () => {
  const hostile = [
    gateway("evil/gw", {}, {
      certificateRefs: [{ name: "tls", namespace: "team" }],
    }),
    route("evil/a", { name: "gw" }, { ...toLlm, namespace: "team" }),
    route("evil/b", { name: "gw" }, {
      ...{ name: "web", namespace: "team", port: 80 },
    }),
    route("evil/c", { name: "gw" }, toLlm),
    llm("evil/llm", { name: "key", namespace: "team" }),
    policy("evil/p", { kind: "Gateway", name: "gw" }, {
      jwtAuthentication: {
        providers: [{
          issuer: "https://idp.example.com",
          jwks: {
            url: "https://idp/jwks",
            backendRef: { name: "llm", namespace: "team" },
          },
        }],
      },
    }),
  ];
  const victim = [
    read("Secret", "team/tls", { type: "kubernetes.io/tls", data: {} }),
    read("Secret", "team/key", { data: {} }),
    llm("team/llm", { name: "key" }),
    read("Service", "team/web", { spec: { ports: [{ port: 80 }] } }),
    // For others, and for another name.
    grant("team", { group: ROUTES, kind: "Gateway", namespace: "friend" }, {
      ...{ group: "", kind: "Secret" },
    }),
    read("ReferenceGrant", "team/second", {
      spec: {
        from: [{ group: ROUTES, kind: "Gateway", namespace: "evil" }],
        to: [{ group: "", kind: "Secret", name: "tls-2" }],
      },
    }),
  ];
  const { names, services } = partOf("evil/gw", [...hostile, ...victim]);
  assert.deepEqual(names.filter((each) => each.includes(" team/")), []);
  assert.deepEqual(services, []);
});

Deno.test("a ReferenceGrant brings what it names, and itself", () => {
  const { names } = partOf("team/gw", [
    gateway("team/gw", {}, {
      certificateRefs: [{ name: "tls", namespace: "certificates" }],
    }),
    read("Secret", "certificates/tls", { type: "kubernetes.io/tls", data: {} }),
    read("Secret", "certificates/other", { data: {} }),
    grant(
      "certificates",
      { group: ROUTES, kind: "Gateway", namespace: "team" },
      { group: "", kind: "Secret" },
    ),
  ]);
  assert.deepEqual(names, [
    "Gateway team/gw",
    "ReferenceGrant certificates/grant",
    "Secret certificates/tls",
  ]);
});

Deno.test("routes and listener sets of namespaces that a gateway does not allow stay away", () => {
  const strangers = [
    route("evil/a", { name: "gw", namespace: "team" }, toLlm),
    llm("evil/llm", { name: "key" }),
    read("Secret", "evil/key", { data: {} }),
    read("ListenerSet", "evil/set", {
      spec: {
        parentRef: { name: "gw", namespace: "team" },
        listeners: [{ name: "x", port: 81, protocol: "HTTP" }],
      },
    }),
  ];
  assert.deepEqual(
    partOf("team/gw", [gateway("team/gw"), ...strangers]).names,
    ["Gateway team/gw"],
  );
  assert.deepEqual(
    partOf("team/gw", [gateway("team/gw", fromAll), ...strangers]).names,
    [
      "Gateway team/gw",
      "GatewayBackend evil/llm",
      "HTTPRoute evil/a",
      "Secret evil/key",
    ],
  );
});

Deno.test("backends of filters come with their route", () => {
  const mirroring = read("HTTPRoute", "team/a", {
    spec: {
      parentRefs: [{ name: "gw" }],
      rules: [{
        filters: [{
          type: "RequestMirror",
          requestMirror: { backendRef: { name: "copy", port: 80 } },
        }],
      }],
    },
  });
  const { services } = partOf("team/gw", [
    gateway("team/gw"),
    mirroring,
    read("Service", "team/copy", { spec: { ports: [{ port: 80 }] } }),
  ]);
  assert.deepEqual(services, ["team/copy"]);
});
