import assert from "node:assert/strict";
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

function compileRule(rule: object, metadata: object = {}) {
  return compileAll({
    gateways: [gateway("gw")],
    httpRoutes: [route("r", { rules: [rule] }, { ...metadata })],
    gatewayBackends: [
      backend("a"),
      backend("b"),
      backend("far", {}, { namespace: "other" }),
    ],
  });
}

Deno.test("weights of backends are shares of their sum", () => {
  const found = routeFor(
    compileRule({ backendRefs: [to("a", { weight: 3 }), to("b")] }),
  );
  assert.deepEqual(
    found?.backends.map(({ weight, backend }) => [weight, backend?.key]),
    [[3, "default/a"], [1, "default/b"]],
  );
  assert.equal(found?.totalWeight, 4);
});

// Gateway API, HTTPBackendRef: "A BackendRef is invalid if"
const invalid = [
  {
    quote: "It refers to an unknown or unsupported kind of resource",
    ref: { name: "a", kind: "Pod" },
    field: "kind",
    problem:
      'Cannot send requests to kind "Pod" of group "": expected "GatewayBackend" of group "policy.gateway.internal", or "Service"',
    hint: "",
  },
  {
    quote: "It refers to a resource that does not exist",
    ref: to("aa"),
    field: "name",
    problem: 'Backend "default/aa" not found',
    hint: " (a?)",
  },
  {
    quote: "a Service that does not exist, beside a backend of that name",
    ref: { name: "a", port: 80 },
    field: "name",
    problem:
      'Service "default/a" not found; for the GatewayBackend of that name, set kind: GatewayBackend and group: policy.gateway.internal',
    hint: "",
  },
  {
    quote:
      "It refers a resource in another namespace when the reference has not been explicitly allowed",
    ref: to("far", { namespace: "other" }),
    field: "namespace",
    problem:
      'Cannot refer to GatewayBackend "other/far" from "default": no ReferenceGrant of "other" allows it',
    hint: "",
  },
  {
    quote: "a port that the backend does not have",
    ref: to("a", { port: 81 }),
    field: "port",
    problem: 'Backend "default/a" has no port 81',
    hint: " (80?)",
  },
];
for (const { quote, ref, field, problem, hint } of invalid) {
  Deno.test(`an invalid backend keeps its share: "${quote}"`, () => {
    const compiled = compileRule({ backendRefs: [to("b"), ref] });
    const found = routeFor(compiled);
    assert.equal(found?.totalWeight, 2);
    const { describePolicies: _describe, ...share } = found?.backends[1] ?? {};
    assert.deepEqual(share, {
      weight: 1,
      priority: 0,
      backend: undefined,
      problem,
      policies: [],
    });
    assert.deepEqual(diagnosticLines(compiled), [
      `warning HTTPRoute/default/r spec.rules.0.backendRefs.1.${field}: ${problem}; its share of requests gets 500${hint}`,
    ]);
  });
}

for (
  const [rule, cause] of [
    [{}, "the route has no backends"],
    [
      { backendRefs: [to("a", { weight: 0 })] },
      "no backend has a weight above 0",
    ],
  ] as const
) {
  Deno.test(`a rule without weight is served and warned about: ${JSON.stringify(rule)}`, () => {
    const compiled = compileRule(rule);
    assert.equal(routeFor(compiled)?.totalWeight, 0);
    assert.deepEqual(diagnosticLines(compiled), [
      `warning HTTPRoute/default/r spec.rules.0: Cannot forward requests: ${cause}, so they get 500`,
    ]);
  });
}

Deno.test("a redirect needs no backend", () => {
  const compiled = compileRule({
    filters: [{
      type: "RequestRedirect",
      requestRedirect: { scheme: "https" },
    }],
  });
  assert.deepEqual(diagnosticLines(compiled), []);
  assert.deepEqual(routeFor(compiled)?.policies.map(({ kind }) => kind.name), [
    "requestRedirect",
  ]);
});

const fractions = [
  [{}, 1],
  [{ percent: 0 }, 0],
  [{ percent: 42 }, 0.42],
  [{ fraction: { numerator: 1, denominator: 4 } }, 0.25],
  [{ fraction: { numerator: 5 } }, 0.05],
] as const;
for (const [share, fraction] of fractions) {
  Deno.test(`request mirror takes ${fraction} of the requests for ${JSON.stringify(share)}`, () => {
    const compiled = compileRule({
      filters: [{
        type: "RequestMirror",
        requestMirror: { backendRef: to("b"), ...share },
      }],
      backendRefs: [to("a")],
    });
    const [mirror] = routeFor(compiled)?.mirrors ?? [];
    assert.equal(mirror?.backend.key, "default/b");
    assert.equal(mirror?.fraction, fraction);
  });
}

Deno.test('a mirror that cannot be found "must be dropped from the Gateway"', () => {
  const compiled = compileRule({
    filters: [{
      type: "RequestMirror",
      requestMirror: { backendRef: to("x1") },
    }],
    backendRefs: [to("a")],
  });
  assert.deepEqual(routeFor(compiled)?.mirrors, []);
  assert.deepEqual(diagnosticLines(compiled), [
    'warning HTTPRoute/default/r spec.rules.0.filters.0.requestMirror.backendRef.name: Backend "default/x1" not found; nothing is mirrored',
  ]);
});

Deno.test("timeouts and retries are in milliseconds", () => {
  const found = routeFor(compileRule({
    backendRefs: [to("a")],
    timeouts: { request: "1m", backendRequest: "500ms" },
    retry: {
      codes: [500, 503],
      on: ["Closed", "Timeout"],
      attempts: 3,
      backoff: "100ms",
    },
  }));
  assert.equal(found?.requestTimeoutMs, 60_000);
  assert.equal(found?.backendTimeoutMs, 500);
  assert.deepEqual(found?.retry, {
    attempts: 3,
    codes: new Set([500, 503]),
    errors: new Set(["upstream_closed", "upstream_timeout"]),
    backoffMs: 100,
  });
});

Deno.test("retries that say nothing more mean one more try", () => {
  const found = routeFor(compileRule({ backendRefs: [to("a")], retry: {} }));
  assert.deepEqual(found?.retry, {
    attempts: 1,
    codes: new Set(),
    errors: new Set(),
    backoffMs: 25,
  });
});

Deno.test("filters run in the fixed order of policies, those of a backend on it alone", () => {
  const found = routeFor(compileRule({
    filters: [
      { type: "URLRewrite", urlRewrite: { hostname: "x.example" } },
      {
        type: "ResponseHeaderModifier",
        responseHeaderModifier: { remove: ["x"] },
      },
      {
        type: "RequestHeaderModifier",
        requestHeaderModifier: { remove: ["x"] },
      },
      { type: "CORS", cors: { allowOrigins: ["*"] } },
    ],
    backendRefs: [
      to("a", {
        filters: [{
          type: "RequestHeaderModifier",
          requestHeaderModifier: { remove: ["y"] },
        }],
      }),
      to("b"),
    ],
  }));
  assert.deepEqual(found?.policies.map(({ kind }) => kind.name), [
    "cors",
    "requestHeaderModifier",
    "responseHeaderModifier",
    "urlRewrite",
  ]);
  assert.deepEqual(
    found?.backends.map(({ policies }) =>
      policies.map(({ kind }) => kind.name)
    ),
    [["requestHeaderModifier"], []],
  );
});

Deno.test("a filter that cannot work is an error at its place", () => {
  const compiled = compileRule({
    filters: [
      { type: "CORS", cors: {} },
      {
        type: "RequestHeaderModifier",
        requestHeaderModifier: { remove: ["Connection"] },
      },
    ],
    backendRefs: [to("a")],
  });
  assert.deepEqual(diagnosticLines(compiled), [
    'error HTTPRoute/default/r spec.rules.0.filters.1.requestHeaderModifier.remove.0: Cannot remove header "Connection": the gateway writes it itself',
  ]);
});

Deno.test("a policy of a backend does not apply to a Service of the same name", () => {
  const policiesOf = (backendRef: object) => {
    const compiled = compileAll({
      gateways: [gateway("gw")],
      gatewayBackends: [backend("web")],
      services: [decode("Service", { name: "web" }, { ports: [{ port: 80 }] })],
      httpRoutes: [route("r", { rules: [{ backendRefs: [backendRef] }] })],
      gatewayPolicies: [
        policy("p", [{ kind: "GatewayBackend", name: "web" }], {
          backend: { transformation: { request: { body: "'x'" } } },
        }),
      ],
    });
    return routeFor(compiled)?.backends[0]?.policies.length;
  };
  assert.equal(policiesOf(to("web")), 1);
  assert.equal(policiesOf({ name: "web", port: 80 }), 0);
});

Deno.test("backends with several priorities become groups, the lowest number first", () => {
  const found = routeFor(compileRule({
    backendRefs: [
      { ...to("b"), priority: 1, weight: 3 },
      to("a"),
    ],
  }));

  assert.deepEqual(
    found?.groups?.map(({ backends }) =>
      backends.map(({ backend, weight }) => [backend?.name, weight])
    ),
    [[["a", 1]], [["b", 3]]],
  );
});

Deno.test("settings of a group on a rule with one backend are warned about", () => {
  const compiled = compileRule({
    backendRefs: [to("a")],
    loadBalancing: { policy: "LeastLatency" },
    hedging: { delay: "1s" },
  });

  assert.deepEqual(diagnosticLines(compiled), [
    'warning HTTPRoute/default/r spec.rules.0.loadBalancing: "loadBalancing" has no effect: it needs at least two backends',
    'warning HTTPRoute/default/r spec.rules.0.hedging: "hedging" has no effect: it needs at least two backends',
  ]);
});

Deno.test("choices by price and content filters need LLM providers", () => {
  const compiled = compileRule({
    backendRefs: [to("a"), to("b")],
    loadBalancing: { policy: "LowestCost" },
    failover: { on: ["ContentFilter"] },
  });

  assert.deepEqual(diagnosticLines(compiled), [
    'error HTTPRoute/default/r spec.rules.0.loadBalancing.policy: "LowestCost" needs LLM providers: backend "a" has no "llm"',
    'error HTTPRoute/default/r spec.rules.0.failover.on: "ContentFilter" needs LLM providers: backend "a" has no "llm"',
  ]);
});
