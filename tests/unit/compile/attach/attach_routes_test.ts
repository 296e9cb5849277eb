import assert from "node:assert/strict";
import {
  backend,
  compileAll,
  decode,
  diagnosticLines,
  gateway,
  route,
  routeFor,
  to,
} from "../resources.ts";

const gatewayBackends = [backend("b")];
const rules = [{ backendRefs: [to("b")] }];
const twoListeners = gateway("gw", [
  { name: "a", port: 80, hostname: "a.example.com" },
  { name: "b", port: 8080, hostname: "*.b.example.com" },
]);

const attachments: {
  quote: string;
  spec: object;
  metadata?: object;
  attached: Record<string, boolean>;
  warning?: string;
}[] = [
  {
    quote:
      "a route without hostnames and sectionName attaches to every listener",
    spec: {},
    attached: { a: true, b: true },
  },
  {
    quote: "sectionName: the name of a section within the target resource",
    spec: { parentRefs: [{ name: "gw", sectionName: "b" }] },
    attached: { a: false, b: true },
  },
  {
    quote: "port: the network port this Route targets",
    spec: { parentRefs: [{ name: "gw", port: 80 }] },
    attached: { a: true, b: false },
  },
  {
    quote: "both specified values must match",
    spec: { parentRefs: [{ name: "gw", sectionName: "a", port: 8080 }] },
    attached: { a: false, b: false },
    warning: 'gateway "default/gw" has no listener with name "a" and port 8080',
  },
  {
    quote:
      "there must be at least one intersecting hostname for the HTTPRoute to be attached to the Listener",
    spec: { hostnames: ["x.b.example.com", "other.example.net"] },
    attached: { a: false, b: true },
  },
  {
    quote:
      "and none match with the criteria above, then the HTTPRoute is not accepted",
    spec: { hostnames: ["other.example.net"] },
    attached: { a: false, b: false },
    warning:
      'no listener of gateway "default/gw" has a hostname in common with it',
  },
  {
    quote: "a parent that does not exist",
    spec: { parentRefs: [{ name: "gv" }] },
    attached: { a: false, b: false },
    warning: 'gateway "default/gv" not found (gw?)',
  },
  {
    quote: "a parent of another kind",
    spec: { parentRefs: [{ name: "gw", group: "", kind: "Service" }] },
    attached: { a: false, b: false },
    warning: 'kind "Service" cannot have routes',
  },
  {
    quote:
      "Same: Only Routes in the same namespace may be used by this Gateway",
    spec: { parentRefs: [{ name: "gw", namespace: "default" }] },
    metadata: { namespace: "other" },
    attached: { a: false, b: false },
    warning: 'gateway "default/gw" does not allow it',
  },
];
for (const { quote, spec, metadata, attached, warning } of attachments) {
  Deno.test(`route attachment: "${quote}"`, () => {
    const compiled = compileAll({
      gateways: [twoListeners],
      httpRoutes: [route("r", { rules, ...spec }, { ...metadata })],
      gatewayBackends: [backend("b", {}, { ...metadata })],
    });
    const hosts: Record<string, string> = {
      a: "a.example.com",
      b: "x.b.example.com",
    };
    for (const [name, expected] of Object.entries(attached)) {
      const found = routeFor(compiled, {
        listener: `default/gw/${name}`,
        hostname: hosts[name] ?? "",
      });
      assert.equal(found !== undefined, expected, name);
    }
    const lines = diagnosticLines(compiled).map((line) =>
      line.split("Cannot attach the route: ")[1]
    );
    assert.deepEqual(lines, warning === undefined ? [] : [warning]);
  });
}

function select(selector: object) {
  return { namespaces: { from: "Selector", selector } } as const;
}

const allowed = [
  [{ namespaces: { from: "All" } }, true],
  [{ namespaces: { from: "Same" } }, false],
  [{ namespaces: { from: "None" } }, false],
  [{ namespaces: { from: "Selector" } }, false],
  [{ namespaces: { from: "Selector", selector: {} } }, true],
  [select({ matchLabels: { team: "ai" } }), true],
  [select({ matchLabels: { team: "web" } }), false],
  [
    select({ matchLabels: { "kubernetes.io/metadata.name": "other" } }),
    true,
  ],
  [
    select({
      matchExpressions: [
        { key: "team", operator: "In", values: ["web", "ai"] },
        { key: "zone", operator: "DoesNotExist" },
        { key: "zone", operator: "NotIn", values: ["a"] },
        { key: "team", operator: "Exists" },
      ],
    }),
    true,
  ],
  [
    select({
      matchExpressions: [{ key: "team", operator: "NotIn", values: ["ai"] }],
    }),
    false,
  ],
  [{ namespaces: { from: "All" }, kinds: [{ kind: "HTTPRoute" }] }, true],
  [{ namespaces: { from: "All" }, kinds: [{ kind: "GRPCRoute" }] }, false],
] as const;
for (const [allowedRoutes, expected] of allowed) {
  Deno.test(`allowedRoutes ${JSON.stringify(allowedRoutes)} ${expected ? "takes" : "rejects"} a route of another namespace`, () => {
    const compiled = compileAll({
      gateways: [gateway("gw", [{ allowedRoutes }])],
      httpRoutes: [
        route("r", {
          parentRefs: [{ name: "gw", namespace: "default" }],
          rules,
        }, { namespace: "other" }),
      ],
      gatewayBackends: [backend("b", {}, { namespace: "other" })],
      namespaces: [decode("Namespace", {
        name: "other",
        labels: { team: "ai" },
      })],
    });
    assert.equal(routeFor(compiled) !== undefined, expected);
  });
}

Deno.test("hostnames of a route that its listener does not have are ignored", () => {
  const compiled = compileAll({
    gateways: [gateway("gw", [{ hostname: "*.example.com" }])],
    httpRoutes: [
      route("r", {
        hostnames: ["test.example.com", "test.example.net"],
        rules,
      }),
    ],
    gatewayBackends,
  });
  assert.ok(routeFor(compiled, { hostname: "test.example.com" }));
  assert.equal(routeFor(compiled, { hostname: "test.example.net" }), undefined);
});

const ties: {
  quote: string;
  routes: ReturnType<typeof route>[];
  winner: string;
}[] = [
  {
    quote: "The oldest Route based on creation timestamp",
    routes: [
      route("a", { rules }, { creationTimestamp: "2026-02-01T00:00:00Z" }),
      route("b", { rules }, { creationTimestamp: "2026-01-01T00:00:00Z" }),
    ],
    winner: "b",
  },
  {
    quote:
      'The Route appearing first in alphabetical order by "{namespace}/{name}"',
    routes: [route("b", { rules }), route("a", { rules })],
    winner: "a",
  },
  {
    quote: "a route without timestamp, as in a file, is the oldest",
    routes: [
      route("a", { rules }, { creationTimestamp: "2026-02-01T00:00:00Z" }),
      route("b", { rules }),
    ],
    winner: "b",
  },
];
for (const { quote, routes, winner } of ties) {
  Deno.test(`routes that tie: "${quote}"`, () => {
    const compiled = compileAll({
      gateways: [gateway("gw")],
      httpRoutes: routes,
      gatewayBackends,
    });
    assert.equal(routeFor(compiled)?.name, winner);
  });
}

Deno.test("a route that names no gateway gets a warning", () => {
  const compiled = compileAll({
    gateways: [gateway("g")],
    httpRoutes: [route("r", { parentRefs: [], rules })],
    gatewayBackends,
  });
  assert.deepEqual(diagnosticLines(compiled), [
    "warning HTTPRoute/default/r spec.parentRefs: Cannot attach the route: it names no gateway",
  ]);
});

Deno.test("a route in a configuration without gateways gets a warning that says so", () => {
  const compiled = compileAll({
    gateways: [],
    httpRoutes: [route("r", { parentRefs: [], rules })],
    gatewayBackends,
  });
  assert.deepEqual(diagnosticLines(compiled), [
    "warning HTTPRoute/default/r spec.parentRefs: Cannot attach the route: there is no gateway, so nothing listens",
  ]);
});
