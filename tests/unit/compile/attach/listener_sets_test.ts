import assert from "node:assert/strict";
import type { ResourceSet } from "../../../../src/api/resources/resource_set.ts";
import {
  backend,
  compileAll,
  decode,
  diagnosticLines,
  gateway,
  policy,
  route,
  routeFor,
  to,
} from "../resources.ts";

const gatewayBackends = [backend("b")];
const rules = [{ backendRefs: [to("b")] }];

/** A gateway that allows the listener sets of these namespaces. */
function allowing(namespaces: object | undefined, listeners: object[] = [{}]) {
  const { spec, ...resource } = gateway("gw", listeners);
  return decode("Gateway", resource.metadata, {
    ...spec,
    ...(namespaces && { allowedListeners: { namespaces } }),
  });
}

/** A listener set of gateway `default/gw`. */
function listenerSet(
  name: string,
  listeners: readonly object[],
  metadata: Readonly<Record<string, unknown>> = {},
) {
  return decode("ListenerSet", { name, ...metadata }, {
    parentRef: { name: "gw", namespace: "default" },
    listeners: listeners.map((listener) => ({
      name: "http",
      port: 80,
      protocol: "HTTP",
      ...listener,
    })),
  });
}

/** Conditions of the set `team/extra`, or another. */
function conditionsOf(resources: Partial<ResourceSet>, name = "team/extra") {
  const { outcomes } = compileAll({ gatewayBackends, ...resources });
  return outcomes.listenerSets.find((each) => each.name === name)?.conditions
    .map(({ type, status, reason }) => `${type}=${status}/${reason}`);
}

const team = { namespace: "team" };
const extra = listenerSet("extra", [{ hostname: "team.example" }], team);
const attached = {
  parentRefs: [{ kind: "ListenerSet", name: "extra" }],
  rules,
};

Deno.test("a listener set adds listeners to its gateway, for the routes that refer to it", () => {
  const compiled = compileAll({
    gatewayBackends: [...gatewayBackends, backend("b", {}, team)],
    gateways: [allowing({ from: "All" })],
    listenerSets: [extra],
    httpRoutes: [
      route("on-set", attached, team),
      route("on-gateway", { rules }),
    ],
  });
  assert.deepEqual(diagnosticLines(compiled), []);
  assert.deepEqual(compiled.snapshot.ports.map(({ port }) => port), [80]);
  const listeners = ["default/gw/http", "default/gw/team/extra/http"];
  assert.deepEqual(
    listeners.map((listener) => routeFor(compiled, { listener })?.name),
    ["on-gateway", "on-set"],
  );
});

const namespaces = [
  [undefined, "NotAllowed"],
  [{ from: "None" }, "NotAllowed"],
  [{ from: "Same" }, "NotAllowed"],
  [{ from: "All" }, "Accepted"],
  [
    { from: "Selector", selector: { matchLabels: { team: "a" } } },
    "Accepted",
  ],
  [
    { from: "Selector", selector: { matchLabels: { team: "b" } } },
    "NotAllowed",
  ],
] as const;
for (const [allowed, reason] of namespaces) {
  Deno.test(`allowedListeners ${JSON.stringify(allowed)}: ${reason}`, () => {
    const conditions = conditionsOf({
      gateways: [allowing(allowed)],
      listenerSets: [extra],
      namespaces: [
        decode("Namespace", { name: "team", labels: { team: "a" } }),
      ],
    });
    assert.deepEqual(
      conditions,
      reason === "Accepted"
        ? ["Accepted=true/Accepted", "Programmed=true/Programmed"]
        : ["Accepted=false/NotAllowed", "Programmed=false/NotAllowed"],
    );
  });
}

Deno.test("a listener set yields to its gateway and to older sets", () => {
  const older = { ...team, creationTimestamp: "2026-01-01T00:00:00Z" };
  const newer = { ...team, creationTimestamp: "2026-01-02T00:00:00Z" };
  const resources = {
    gateways: [allowing({ from: "All" }, [{ hostname: "gw.example" }])],
    listenerSets: [
      listenerSet("a-newer", [{ hostname: "x.example" }], newer),
      listenerSet("older", [
        { hostname: "x.example" },
        { name: "taken", hostname: "gw.example" },
        {
          name: "tls",
          hostname: "y.example",
          protocol: "HTTPS",
          tls: { certificateRefs: [{ name: "none" }] },
        },
      ], older),
    ],
  };
  const compiled = compileAll(resources);
  assert.deepEqual(diagnosticLines(compiled), [
    'error ListenerSet/team/older spec.listeners.1: The listener conflicts with "default/gw/http": both accept hostname "gw.example" on port 80',
    'error ListenerSet/team/older spec.listeners.2.protocol: Cannot use another "protocol" than listener "default/gw/http": both are on port 80',
    'error ListenerSet/team/a-newer spec.listeners.0: The listener conflicts with "default/gw/team/older/http": both accept hostname "x.example" on port 80',
  ]);
  assert.deepEqual(
    compiled.snapshot.ports.flatMap(({ listeners }) =>
      listeners.map(({ key }) => key)
    ).sort(),
    ["default/gw/http", "default/gw/team/older/http"],
  );
  assert.deepEqual(conditionsOf(resources, "team/older"), [
    "Accepted=true/ListenersNotValid",
    "Programmed=true/Programmed",
  ]);
  assert.deepEqual(conditionsOf(resources, "team/a-newer"), [
    "Accepted=false/ListenersNotValid",
    "Programmed=false/ListenersNotValid",
  ]);
});

Deno.test("policies of a gateway apply to its listener sets, those of a set to the set alone", () => {
  const deny = (name: string, kind: string, namespace: string) =>
    policy(
      name,
      [{ kind, name: kind === "Gateway" ? "gw" : "extra" }],
      { phase: "PreRouting", traffic: { cors: {} } },
      { namespace },
    );
  const kindsOf = (...gatewayPolicies: ReturnType<typeof deny>[]) => {
    const compiled = compileAll({
      gateways: [allowing({ from: "All" })],
      listenerSets: [extra],
      gatewayPolicies,
    });
    assert.deepEqual(diagnosticLines(compiled), []);
    const [port] = compiled.snapshot.ports;
    return Object.fromEntries(
      port?.listeners.map(({ key, policies }) => [key, policies.length]) ?? [],
    );
  };
  assert.deepEqual(kindsOf(deny("all", "Gateway", "default")), {
    "default/gw/http": 1,
    "default/gw/team/extra/http": 1,
  });
  assert.deepEqual(kindsOf(deny("set", "ListenerSet", "team")), {
    "default/gw/http": 0,
    "default/gw/team/extra/http": 1,
  });
});

Deno.test("routes attach to listener sets by their rules, not by those of the gateway", () => {
  const reasonOf = (spec: object, namespace: string) => {
    const { outcomes } = compileAll({
      gateways: [allowing({ from: "All" })],
      listenerSets: [extra],
      httpRoutes: [route("r", { rules: [{}], ...spec }, { namespace })],
    });
    const [own] = outcomes.routes;
    return own?.parents.map(({ conditions }) => conditions[0]?.reason);
  };
  const parentRefs = [{ kind: "ListenerSet", name: "extra", ...team }];
  // `Same` is the namespace of the set.
  assert.deepEqual(reasonOf({ parentRefs }, "team"), ["Accepted"]);
  assert.deepEqual(reasonOf({ parentRefs }, "default"), [
    "NotAllowedByListeners",
  ]);
  const section = [{ name: "gw", sectionName: "http-of-set" }];
  assert.deepEqual(reasonOf({ parentRefs: section }, "default"), [
    "NoMatchingParent",
  ]);
});

Deno.test("a ReferenceGrant for a gateway does not let its listener sets use certificates", () => {
  const grantFor = (kind: string, namespace: string) =>
    decode("ReferenceGrant", { name: "g", namespace: "certs" }, {
      from: [{ group: "gateway.networking.k8s.io", kind, namespace }],
      to: [{ group: "", kind: "Secret" }],
    });
  const problemWith = (kind: string, namespace: string) => {
    const compiled = compileAll({
      gateways: [allowing({ from: "All" })],
      listenerSets: [listenerSet("extra", [{
        port: 443,
        protocol: "HTTPS",
        tls: { certificateRefs: [{ name: "tls", namespace: "certs" }] },
      }], team)],
      referenceGrants: [grantFor(kind, namespace)],
    });
    return compiled.outcomes.listenerSets[0]?.listeners[0]?.conditions
      .find(({ type }) => type === "ResolvedRefs")?.reason;
  };
  assert.equal(problemWith("Gateway", "default"), "RefNotPermitted");
  assert.equal(problemWith("ListenerSet", "default"), "RefNotPermitted");
  // Allowed, but the Secret does not exist.
  assert.equal(problemWith("ListenerSet", "team"), "InvalidCertificateRef");
});

Deno.test("a listener set of no gateway, and routes of none, are explained", () => {
  const compiled = compileAll({
    gateways: [allowing(undefined)],
    listenerSets: [
      extra,
      decode("ListenerSet", { name: "lost" }, {
        ...extra.spec,
        parentRef: { name: "gww" },
      }),
    ],
    httpRoutes: [
      route("r", { ...attached, rules: [{}] }, team),
      route("typo", {
        parentRefs: [{ kind: "ListenerSet", name: "extre" }],
        rules: [{}],
      }, team),
    ],
  });
  assert.deepEqual(
    diagnosticLines(compiled).filter((line) => line.includes("Cannot")),
    [
      'warning ListenerSet/default/lost spec.parentRef: Cannot add the listeners of "lost": gateway "default/gww" not found (gw?)',
      'warning ListenerSet/team/extra spec.parentRef: Cannot add the listeners of "extra": gateway "default/gw" does not allow it; set its "allowedListeners"',
      'warning HTTPRoute/team/r spec.parentRefs.0: Cannot attach the route: listener set "team/extra" has no valid listener',
      'warning HTTPRoute/team/typo spec.parentRefs.0: Cannot attach the route: listener set "team/extre" not found (extra?)',
    ],
  );
});
