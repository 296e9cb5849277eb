import assert from "node:assert/strict";
import type { KubernetesObject } from "../../../src/cluster/client/kubernetes_object.ts";
import { createCollections } from "../../../src/cluster/source/collections.ts";
import { readObject } from "../../../src/cluster/source/read_objects.ts";
import { desiredStatuses } from "../../../src/cluster/status/desired_status.ts";
import {
  isStored,
  storeConditions,
} from "../../../src/cluster/status/stored_conditions.ts";
import { POLICY_API_GROUP } from "../../../src/api/schema/group.ts";
import { resourceSetOf } from "../../../src/api/resources/resource_set.ts";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";
import { compileAll } from "../compile/resources.ts";

const GATEWAY_API = "gateway.networking.k8s.io/v1";
const CONTROLLER = "example.com/gateway";
const NOW = Date.UTC(2026, 0, 1);
const NOW_TEXT = "2026-01-01T00:00:00Z";

let uids = 0;

function object(
  kind: string,
  name: string,
  spec: object,
  more: object = {},
): KubernetesObject {
  const isPolicy = kind === "GatewayPolicy" || kind === "GatewayBackend";
  return {
    apiVersion: isPolicy ? `${POLICY_API_GROUP}/v1alpha1` : GATEWAY_API,
    kind,
    metadata: {
      name,
      ...(kind !== "GatewayClass" && { namespace: "default" }),
      uid: `uid-${uids++}`,
      generation: 3,
    },
    spec,
    ...more,
  };
}

const gatewayClass = object("GatewayClass", "class", {
  controllerName: CONTROLLER,
});

function gatewayWith(listeners: readonly object[], more: object = {}) {
  return object("Gateway", "gw", {
    gatewayClassName: "class",
    listeners,
    ...more,
  });
}

const http = { name: "http", port: 80, protocol: "HTTP" };

function routeTo(backend: string, more: object = {}, ...statuses: object[]) {
  const [status] = statuses;
  return object("HTTPRoute", "r", {
    parentRefs: [{ name: "gw" }],
    rules: [{
      backendRefs: [{
        group: POLICY_API_GROUP,
        kind: "GatewayBackend",
        name: backend,
      }],
    }],
    ...more,
  }, status === undefined ? {} : { status });
}

const backend = object("GatewayBackend", "b", {
  static: { host: "127.0.0.1", port: 80 },
});

/** The statuses that a controller writes for objects, by kind. */
function statusesOf(objects: readonly KubernetesObject[]) {
  const collections = createCollections(POLICY_API_GROUP);
  const read = objects.map((each) => {
    const collection = collections.find(({ kind }) => kind === each.kind);
    if (collection === undefined) throw new Error(`no ${each.kind}`);
    return readObject(each, collection, {
      schemas: schemasOf().kinds,
      policyApiGroup: POLICY_API_GROUP,
      isManaged: false,
    });
  });
  const resources = resourceSetOf(
    read.flatMap(({ resource }) => resource === undefined ? [] : [resource]),
  );
  const ofKind = (kind: string) => objects.filter((each) => each.kind === kind);
  const statuses = [...desiredStatuses({
    state: {
      classes: ofKind("GatewayClass"),
      gateways: ofKind("Gateway"),
      listenerSets: ofKind("ListenerSet"),
      objects: new Map(
        objects.map((each) => [each.metadata.uid ?? "", each]),
      ),
      resources,
      rejections: read.flatMap(({ rejections }) => rejections),
    },
    outcomes: compileAll(resources).outcomes,
    controllerName: CONTROLLER,
    supportedFeatures: ["Gateway"],
    addressesOf: () => [{ type: "IPAddress", value: "10.0.0.1" }],
    conditionsOf: () => [],
    objects: ofKind,
    keyProblems: new Map(),
    stored: new WeakMap(),
    now: NOW,
  })];
  return Object.fromEntries(
    statuses.map(({ object: { kind }, status }) => [kind, status]),
  );
}

/** Conditions as `Accepted=True/Accepted`. */
function short(conditions: unknown): readonly string[] {
  if (!Array.isArray(conditions)) return [];
  return conditions.map(({ type, status, reason }) =>
    `${type}=${status}/${reason}`
  );
}

/** Conditions of the gateway and its listeners. */
function gatewayStatus(listeners: readonly object[], more: object = {}) {
  const { Gateway } = statusesOf([gatewayClass, gatewayWith(listeners, more)]);
  const own = Gateway?.["listeners"];
  return {
    gateway: short(Gateway?.["conditions"]),
    listeners: Array.isArray(own)
      ? own.map(({ name, conditions }) => [name, ...short(conditions)])
      : [],
  };
}

Deno.test("a valid gateway is accepted and programmed, with its address", () => {
  const { Gateway, GatewayClass } = statusesOf([
    gatewayClass,
    gatewayWith([http]),
  ]);
  assert.deepEqual(short(GatewayClass?.["conditions"]), [
    "Accepted=True/Accepted",
    "SupportedVersion=True/SupportedVersion",
  ]);
  assert.deepEqual(GatewayClass?.["supportedFeatures"], [{ name: "Gateway" }]);
  assert.deepEqual(Gateway?.["addresses"], [
    { type: "IPAddress", value: "10.0.0.1" },
  ]);
  assert.deepEqual(Gateway?.["conditions"], [
    {
      type: "Accepted",
      status: "True",
      reason: "Accepted",
      message: "",
      observedGeneration: 3,
      lastTransitionTime: NOW_TEXT,
    },
    {
      type: "Programmed",
      status: "True",
      reason: "Programmed",
      message: "",
      observedGeneration: 3,
      lastTransitionTime: NOW_TEXT,
    },
  ]);
});

Deno.test("an invalid listener does not invalidate the others", () => {
  assert.deepEqual(
    gatewayStatus([http, { name: "udp", port: 53, protocol: "UDP" }]),
    {
      gateway: [
        "Accepted=True/ListenersNotValid",
        "Programmed=True/Programmed",
      ],
      listeners: [
        [
          "http",
          "Accepted=True/Accepted",
          "Conflicted=False/NoConflicts",
          "ResolvedRefs=True/ResolvedRefs",
          "Programmed=True/Programmed",
        ],
        [
          "udp",
          "Accepted=False/UnsupportedProtocol",
          "Conflicted=False/NoConflicts",
          "Programmed=False/Invalid",
          "ResolvedRefs=True/ResolvedRefs",
        ],
      ],
    },
  );
});

Deno.test("a gateway without a valid listener is not accepted", () => {
  const { gateway } = gatewayStatus([
    { name: "udp", port: 53, protocol: "UDP" },
  ]);
  assert.deepEqual(gateway, [
    "Accepted=False/ListenersNotValid",
    "Programmed=False/Invalid",
  ]);
});

Deno.test("parameters that are not supported are said", () => {
  const parametersRef = { group: "x.io", kind: "Y", name: "z" };
  const { gateway } = gatewayStatus([http], {
    infrastructure: { parametersRef },
  });
  assert.deepEqual(gateway, [
    "Accepted=False/InvalidParameters",
    "Programmed=False/Invalid",
  ]);
});

Deno.test("a certificate that is missing leaves the listener unresolved", () => {
  const { listeners } = gatewayStatus([{
    name: "https",
    port: 443,
    protocol: "HTTPS",
    tls: { certificateRefs: [{ name: "none" }] },
  }]);
  assert.deepEqual(listeners[0], [
    "https",
    "Accepted=True/Accepted",
    "Conflicted=False/NoConflicts",
    "ResolvedRefs=False/InvalidCertificateRef",
    "Programmed=False/Invalid",
  ]);
});

/** Conditions of the route's first parent. */
function routeStatus(route: KubernetesObject): readonly string[] {
  const { HTTPRoute } = statusesOf([
    gatewayClass,
    gatewayWith([{ ...http, hostname: "*.example.com" }]),
    backend,
    route,
  ]);
  const parents = HTTPRoute?.["parents"];
  return Array.isArray(parents) ? short(parents.at(-1)?.conditions) : [];
}

const routes = [
  [routeTo("b"), "Accepted=True/Accepted", "ResolvedRefs=True/ResolvedRefs"],
  [
    routeTo("none"),
    "Accepted=True/Accepted",
    "ResolvedRefs=False/BackendNotFound",
  ],
  [
    routeTo("b", { hostnames: ["other.net"] }),
    "Accepted=False/NoMatchingListenerHostname",
    "ResolvedRefs=True/ResolvedRefs",
  ],
  [
    routeTo("b", { parentRefs: [{ name: "gw", sectionName: "none" }] }),
    "Accepted=False/NoMatchingParent",
    "ResolvedRefs=True/ResolvedRefs",
  ],
  [
    routeTo("b", { rules: [{ timeouts: { request: "never" } }] }),
    "Accepted=False/UnsupportedValue",
    "ResolvedRefs=True/ResolvedRefs",
  ],
] as const;
for (const [route, ...expected] of routes) {
  Deno.test(`a route gets ${expected.join(" and ")}`, () => {
    assert.deepEqual(routeStatus(route), expected);
  });
}

Deno.test("entries of other controllers are kept, and times of conditions that stay", () => {
  const other = {
    parentRef: { name: "other" },
    controllerName: "example.com/other",
    conditions: [],
  };
  const accepted = {
    type: "Accepted",
    status: "True",
    reason: "Accepted",
    message: "",
    observedGeneration: 1,
    lastTransitionTime: "2020-01-01T00:00:00Z",
  };
  const { HTTPRoute } = statusesOf([
    gatewayClass,
    gatewayWith([http]),
    backend,
    routeTo("b", {}, {
      parents: [other, {
        parentRef: { name: "gw" },
        controllerName: CONTROLLER,
        conditions: [accepted],
      }],
    }),
  ]);
  const parents = HTTPRoute?.["parents"];
  assert(Array.isArray(parents));
  assert.deepEqual(parents[0], other);
  assert.deepEqual(parents[1].conditions[0], {
    ...accepted,
    observedGeneration: 3,
  });
});

function policyOn(name: string, traffic: object) {
  return object("GatewayPolicy", "p", {
    targetRefs: [{
      group: "gateway.networking.k8s.io",
      kind: "HTTPRoute",
      name,
    }],
    traffic,
  });
}

Deno.test("the status of a policy stays as it is, in whatever order the API server has its members", () => {
  const policy = policyOn("r", { timeouts: { request: "1s" } });
  const stored = ancestorsOf(policy).map((
    { ancestorRef, conditions, ...entry },
  ) => ({
    ...entry,
    ancestorRef: Object.fromEntries(
      Object.entries(ancestorRef).toSorted(([a], [b]) => a < b ? -1 : 1),
    ),
    conditions: conditions.map((each: object) => ({
      ...each,
      lastTransitionTime: "2020-01-01T00:00:00Z",
    })),
  }));
  assert.notDeepEqual(stored, []);
  const again = ancestorsOf({ ...policy, status: { ancestors: stored } });
  assert.deepEqual(again, stored);
});

/** Entries of the policy's status. */
function ancestorsOf(policy: KubernetesObject) {
  const { GatewayPolicy } = statusesOf([
    gatewayClass,
    gatewayWith([http]),
    backend,
    routeTo("b"),
    policy,
  ]);
  const ancestors = GatewayPolicy?.["ancestors"];
  return Array.isArray(ancestors) ? ancestors : [];
}

/** Ancestors of the policy with their conditions. */
function policyStatus(policy: KubernetesObject) {
  return ancestorsOf(policy).map(({ ancestorRef, conditions }) => [
    `${ancestorRef.kind}/${ancestorRef.name}`,
    ...short(conditions),
  ]);
}

const policies = [
  [
    policyOn("r", { directResponse: { status: 200 } }),
    ["Gateway/gw", "Accepted=True/Accepted", "Attached=True/Attached"],
  ],
  [
    policyOn("none", { directResponse: { status: 200 } }),
    [
      "HTTPRoute/none",
      "Accepted=False/TargetNotFound",
      "Attached=False/TargetNotFound",
    ],
  ],
  [
    policyOn("r", { directResponse: { status: 1 } }),
    ["Gateway/gw", "Accepted=False/Invalid", "Attached=False/Invalid"],
  ],
] as const;
for (const [policy, expected] of policies) {
  Deno.test(`a policy gets ${expected.join(", ")}`, () => {
    assert.deepEqual(policyStatus(policy), [expected]);
  });
}

Deno.test("a route of a cluster cannot serve the web UI", () => {
  const { HTTPRoute } = statusesOf([
    gatewayClass,
    gatewayWith([http]),
    object("HTTPRoute", "r", {
      parentRefs: [{ name: "gw" }],
      rules: [{
        backendRefs: [{
          group: POLICY_API_GROUP,
          kind: "WebUI",
          name: "read-write",
        }],
      }],
    }),
  ]);

  assert.match(
    JSON.stringify(HTTPRoute),
    /"type":"ResolvedRefs","status":"False","reason":"InvalidKind"/,
  );
});

Deno.test("an invalid policy denies every request to its target, an invalid TLS policy every connection", () => {
  const options = {
    schemas: schemasOf().kinds,
    policyApiGroup: POLICY_API_GROUP,
    isManaged: false,
  };
  const collections = createCollections(POLICY_API_GROUP);
  const read = (each: KubernetesObject) => {
    const collection = collections.find(({ kind }) => kind === each.kind);
    return collection && readObject(each, collection, options).resource;
  };
  const policy = read(policyOn("r", { noSuchPolicy: {} }));
  assert(policy?.kind === "GatewayPolicy");
  assert.deepEqual(policy.spec.traffic, {
    directResponse: { status: 500, body: "invalid policy" },
  });
  const tls = read(object("BackendTLSPolicy", "t", {
    targetRefs: [{ group: "", kind: "Service", name: "s" }],
    validation: { hostname: "s", noSuchField: true },
  }));
  assert(tls?.kind === "BackendTLSPolicy");
  const { backends } = compileAll({
    backendTlsPolicies: [{
      ...tls,
      spec: {
        ...tls.spec,
        targetRefs: [{
          group: POLICY_API_GROUP,
          kind: "GatewayBackend",
          name: "b",
        }],
      },
    }],
    gatewayBackends: resourceSetOf([read(backend)].flatMap((each) =>
      each?.kind === "GatewayBackend" ? [each] : []
    )).gatewayBackends,
  }).snapshot;
  assert.equal(backends.get("default/b")?.tls, "invalid");
});

Deno.test("a status is written only when a field of it differs", () => {
  const stored = { conditions: [{ type: "A", extra: 1 }], other: 1 };
  assert.equal(isStored(stored, { conditions: [{ type: "A" }] }), true);
  assert.equal(isStored(stored, { conditions: [{ type: "B" }] }), false);
  assert.equal(isStored(stored, { conditions: [] }), false);
  assert.equal(isStored(undefined, { conditions: [] }), false);
});

Deno.test("a listener set has a status, and its gateway counts it", () => {
  const listeners = [{ ...http, hostname: "team.example" }, {
    name: "tcp",
    port: 80,
    protocol: "TCP",
  }, {
    name: "tls",
    port: 443,
    protocol: "TLS",
    allowedRoutes: { kinds: [{ kind: "HTTPRoute" }] },
  }];
  const { Gateway, ListenerSet } = statusesOf([
    gatewayClass,
    gatewayWith([http], { allowedListeners: { namespaces: { from: "Same" } } }),
    object("ListenerSet", "extra", { parentRef: { name: "gw" }, listeners }),
  ]);
  assert.equal(Gateway?.["attachedListenerSets"], 1);
  assert.deepEqual(short(ListenerSet?.["conditions"]), [
    "Accepted=True/ListenersNotValid",
    "Programmed=True/Programmed",
  ]);
  const own = ListenerSet?.["listeners"];
  assert.ok(Array.isArray(own));
  assert.deepEqual(
    own.map(({ name, conditions }) => [name, ...short(conditions)]),
    [
      [
        "http",
        "Accepted=True/Accepted",
        "Conflicted=False/NoConflicts",
        "ResolvedRefs=True/ResolvedRefs",
        "Programmed=True/Programmed",
      ],
      [
        "tcp",
        "Accepted=False/ProtocolConflict",
        "Conflicted=True/ProtocolConflict",
        "Programmed=False/ProtocolConflict",
        "ResolvedRefs=True/ResolvedRefs",
      ],
      [
        "tls",
        "Accepted=False/UnsupportedProtocol",
        "Conflicted=False/NoConflicts",
        "Programmed=False/Invalid",
        "ResolvedRefs=False/InvalidRouteKinds",
      ],
    ],
  );
});

Deno.test("a listener set of a gateway that is not accepted is not accepted", () => {
  const { ListenerSet } = statusesOf([
    gatewayClass,
    gatewayWith([{ ...http, protocol: "TCP" }]),
    object("ListenerSet", "extra", {
      parentRef: { name: "gw" },
      listeners: [http],
    }),
  ]);
  assert.deepEqual(short(ListenerSet?.["conditions"]), [
    "Accepted=False/ParentNotAccepted",
    "Programmed=False/ParentNotAccepted",
  ]);
});

for (
  const address of [
    { type: "example.com/name", value: "any" },
    { type: "Hostname", value: "gw.example.com" },
  ]
) {
  Deno.test(`a gateway cannot have an address of type ${address.type}`, () => {
    const { gateway } = gatewayStatus([http], { addresses: [address] });
    assert.deepEqual(gateway, [
      "Accepted=False/UnsupportedAddress",
      "Programmed=False/Invalid",
    ]);
  });
}

Deno.test("messages are stored as the API server returns them, so that they are not written again", () => {
  const message = "x".repeat(32767) + "😀";

  const [stored] = storeConditions(
    [{ type: "Accepted", status: false, reason: "Invalid", message }],
    { before: [], generation: 1, now: NOW },
  );

  assert.equal(stored?.message.length, 32768);
  assert.ok(stored.message.isWellFormed());
});

Deno.test("a status has no more entries than the API server accepts, and keeps those of others", () => {
  const others = Array.from({ length: 31 }, (_, index) => ({
    parentRef: { name: `other${index}` },
    controllerName: "other.example/gateway",
    conditions: [],
  }));
  const route = routeTo("b", {
    parentRefs: [{ name: "gw" }, { name: "gw", sectionName: "http" }],
  }, { parents: others });

  const { HTTPRoute } = statusesOf([
    gatewayClass,
    gatewayWith([http]),
    backend,
    route,
  ]);

  const parents = HTTPRoute?.["parents"];
  assert(Array.isArray(parents));
  assert.deepEqual(parents.slice(0, 31), others);
  assert.equal(parents.length, 32);
});
