import assert from "node:assert/strict";
import { INLINE_ANNOTATION } from "../../../../src/api/resources/gateway_policy_schema.ts";
import { context, responseOf } from "../../policy/exchange.ts";
import {
  backend,
  compileAll,
  diagnosticLines,
  gateway,
  listenerOf,
  policy,
  route,
  routeFor,
  to,
} from "../resources.ts";

const inline = { annotations: { [INLINE_ANNOTATION]: "true" } };
const onGateway = { kind: "Gateway", name: "gw" };
const onListener = { kind: "Gateway", name: "gw", sectionName: "http" };
const onRoute = { kind: "HTTPRoute", name: "r" };
const onRule = { kind: "HTTPRoute", name: "r", sectionName: "main" };

/** Redirects that say where they come from. */
function sends(hostname: string) {
  return { traffic: { requestRedirect: { hostname } } };
}

function compilePolicies(
  gatewayPolicies: ReturnType<typeof policy>[],
  rule: object = {},
) {
  return compileAll({
    gateways: [gateway("gw")],
    httpRoutes: [
      route("r", {
        rules: [{ name: "main", backendRefs: [to("b")], ...rule }],
      }),
    ],
    gatewayBackends: [backend("b")],
    gatewayPolicies,
  });
}

async function locationOf(compiled: ReturnType<typeof compilePolicies>) {
  const [first] = routeFor(compiled)?.policies ?? [];
  const answer = responseOf(await first?.onRequest?.(context({})));
  return answer?.headers.get("location");
}

const levels = [
  policy("gateway", [onGateway], sends("gateway.example")),
  policy("listener", [onListener], sends("listener.example")),
  policy("route", [onRoute], sends("route.example")),
  policy("rule", [onRule], sends("rule.example")),
  policy("inline", [onRoute], sends("inline.example"), inline),
];
for (const [index, level] of levels.entries()) {
  const name = level.metadata.name;
  Deno.test(`the policy of a ${name} goes before every less specific one`, async () => {
    const compiled = compilePolicies(levels.slice(0, index + 1).reverse());
    assert.equal(await locationOf(compiled), `http://${name}.example/`);
    assert.deepEqual(diagnosticLines(compiled), []);
  });
}

Deno.test("a filter of the rule goes before every policy", async () => {
  const compiled = compilePolicies(levels, {
    backendRefs: [],
    filters: [{
      type: "RequestRedirect",
      requestRedirect: { hostname: "filter.example" },
    }],
  });
  assert.equal(await locationOf(compiled), "http://filter.example/");
});

Deno.test("policies of different kinds add up over the levels", () => {
  const compiled = compilePolicies([
    policy("a", [onGateway], {
      traffic: {
        cors: { allowOrigins: ["*"] },
        urlRewrite: { hostname: "a.example" },
      },
    }),
    policy("b", [onRoute], {
      traffic: { requestHeaderModifier: { remove: ["x"] } },
    }),
  ]);
  assert.deepEqual(routeFor(compiled)?.policies.map(({ kind }) => kind.name), [
    "cors",
    "requestHeaderModifier",
    "urlRewrite",
  ]);
});

Deno.test("timeouts are merged field by field", () => {
  const compiled = compilePolicies([
    policy("a", [onGateway], {
      traffic: { timeouts: { request: "10s", backendRequest: "5s" } },
    }),
    policy("b", [onRoute], { traffic: { timeouts: { request: "20s" } } }),
  ], { timeouts: { backendRequest: "1s" } });
  assert.equal(routeFor(compiled)?.requestTimeoutMs, 20_000);
  assert.equal(routeFor(compiled)?.backendTimeoutMs, 1_000);
});

Deno.test("authorization of every level is kept, the least specific first", async () => {
  const rule = (expression: string) => ({
    traffic: { authorization: { policy: { matchExpressions: [expression] } } },
  });
  const compiled = compilePolicies([
    policy("route", [onRoute], rule("b")),
    policy("gateway", [onGateway], rule("a")),
  ]);
  assert.deepEqual(routeFor(compiled)?.policies.map(({ kind }) => kind.name), [
    "authorization",
    "authorization",
  ]);
  const { routes: [described] } = JSON.parse(
    JSON.stringify(await compiled.descriptions.full()),
  );
  assert.deepEqual(
    described.policies.map(({ source }: { source: string }) => source),
    [
      "GatewayPolicy/default/gateway",
      "GatewayPolicy/default/route",
    ],
  );
});

const conflicts: {
  quote: string;
  policies: ReturnType<typeof policy>[];
  winner: string;
  loser: string;
}[] = [
  {
    quote: "The older policy by creation timestamp takes precedence",
    policies: [
      policy("a", [onRoute], sends("a.example"), {
        creationTimestamp: "2026-02-01T00:00:00Z",
      }),
      policy("b", [onRoute], sends("b.example"), {
        creationTimestamp: "2026-01-01T00:00:00Z",
      }),
    ],
    winner: "b",
    loser: "a",
  },
  {
    quote:
      "The policy appearing first in alphabetical order by {namespace}/{name}",
    policies: [
      policy("b", [onRoute], sends("b.example")),
      policy("a", [onRoute], sends("a.example")),
    ],
    winner: "a",
    loser: "b",
  },
];
for (const { quote, policies, winner, loser } of conflicts) {
  Deno.test(`policies in conflict: "${quote}"`, async () => {
    const compiled = compilePolicies(policies);
    assert.equal(await locationOf(compiled), `http://${winner}.example/`);
    assert.deepEqual(diagnosticLines(compiled), [
      `warning GatewayPolicy/default/${loser} spec.traffic.requestRedirect: Cannot apply "requestRedirect": ` +
      `policy "default/${winner}" has it for the same target and takes precedence`,
    ]);
  });
}

const missing = [
  [
    { kind: "HTTPRoute", name: "rr" },
    'name: Cannot attach the policy: HTTPRoute "default/rr" not found (r?)',
  ],
  [
    { kind: "Gateway", name: "x" },
    'name: Cannot attach the policy: Gateway "default/x" not found',
  ],
  [
    { kind: "Gateway", name: "gw", sectionName: "htp" },
    'sectionName: Cannot attach the policy: Gateway "default/gw" has no section "htp" (http?)',
  ],
  [
    { kind: "HTTPRoute", name: "r", sectionName: "other" },
    'sectionName: Cannot attach the policy: HTTPRoute "default/r" has no section "other"',
  ],
] as const;
for (const [target, expected] of missing) {
  Deno.test(`a policy without its target: ${expected}`, () => {
    const compiled = compilePolicies([
      policy("p", [target], sends("p.example")),
    ]);
    assert.deepEqual(diagnosticLines(compiled), [
      `warning GatewayPolicy/default/p spec.targetRefs.0.${expected}`,
    ]);
  });
}

Deno.test("a policy of another namespace does not reach the target", () => {
  const compiled = compilePolicies([
    policy("p", [onRoute], sends("p.example"), { namespace: "other" }),
  ]);
  assert.deepEqual(routeFor(compiled)?.policies, []);
});

Deno.test("PreRouting policies run on the listener and not on its routes", () => {
  const traffic = { cors: { allowOrigins: ["*"] } };
  const compiled = compilePolicies([
    policy("p", [onGateway], { phase: "PreRouting", traffic }),
  ]);
  assert.deepEqual(listenerOf(compiled).policies.map(({ kind }) => kind.name), [
    "cors",
  ]);
  assert.deepEqual(routeFor(compiled)?.policies, []);
});

const broken = { transformation: { request: { body: "nobody" } } };
const problem =
  'transformation.request.body: Cannot use the expression: unknown variable "nobody" at column 1';

Deno.test("a policy with a problem is an error, attached or not, and rejects requests", () => {
  const compiled = compilePolicies([
    policy("p", [onRoute], { traffic: broken }),
  ]);
  assert.deepEqual(diagnosticLines(compiled), [
    `error GatewayPolicy/default/p spec.traffic.${problem}`,
  ]);
  const [refusing] = routeFor(compiled)?.policies ?? [];
  assert.throws(() => refusing?.onRequest?.(context({})), {
    code: "invalid_policy",
  });
});

Deno.test("a backend policy with a problem is an error and rejects requests", () => {
  const compiled = compilePolicies([
    policy("p", [{ kind: "GatewayBackend", name: "b" }], { backend: broken }),
  ]);
  assert.deepEqual(diagnosticLines(compiled), [
    `error GatewayPolicy/default/p spec.backend.${problem}`,
  ]);
  const [refusing] = routeFor(compiled)?.backends[0]?.policies ?? [];
  assert.throws(() => refusing?.onRequest?.(context({})), {
    code: "invalid_policy",
  });
});
