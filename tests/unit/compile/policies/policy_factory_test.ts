import assert from "node:assert/strict";
import { builtInPolicies } from "../../../../src/policy/registry.ts";
import { emptyResourceSet } from "../../../../src/api/resources/resource_set.ts";
import { environment } from "../../../../src/policy/cel/plan.ts";
import { compile } from "../../../../src/compile/compile.ts";
import { Compilations } from "../../../../src/compile/compilations.ts";
import { servicesIn } from "../../../../src/policy/contract/policy_services.ts";
import { rateLimitServices } from "../../../../src/policy/rate_limit/rate_limit_services.ts";
import { noopServices } from "../../../../src/policy/noop_services.ts";
import { context } from "../../policy/exchange.ts";
import {
  compileAll,
  diagnosticLines,
  gateway,
  policy,
  route,
  routeFor,
} from "../resources.ts";

const GATEWAY = [{
  group: "gateway.networking.k8s.io",
  kind: "Gateway",
  name: "gw",
}];

/** Limits with three expressions. */
const limits = {
  local: [
    { requests: 1, unit: "Minutes", key: "jwt.sub" },
    {
      requests: 2,
      unit: "Minutes",
      key: "source.address",
      when: "request.method == 'GET'",
    },
  ],
};

/** Counts the expressions that are planned while `run` runs. */
function countPlans(run: () => void): number {
  const cel = environment();
  const plan = cel.plan.bind(cel);
  let count = 0;
  cel.plan = (ast) => {
    count++;
    return plan(ast);
  };
  try {
    run();
  } finally {
    Reflect.deleteProperty(cel, "plan");
  }
  return count;
}

/** Routes below paths of their own, on two listeners. */
function manyRoutes(count: number) {
  return {
    gateways: [gateway("gw", [{}, { name: "other", port: 8080 }])],
    httpRoutes: Array.from(
      { length: count },
      (_, number) =>
        route(`r${number}`, {
          rules: [{ matches: [{ path: { value: `/${number}` } }] }],
        }),
    ),
  };
}

Deno.test("expressions and limits of a gateway are compiled once, however many routes it has", () => {
  const used: string[] = [];
  const { counters } = servicesIn(noopServices(), rateLimitServices);
  const resources = {
    ...emptyResourceSet,
    ...manyRoutes(50),
    gatewayPolicies: [
      policy("limits", GATEWAY, { traffic: { rateLimit: limits } }),
    ],
  };

  const plans = countPlans(() =>
    compile(resources, {
      policies: builtInPolicies,
      readFile: () => "",
      compilations: new Compilations(() => ({
        services: noopServices({
          counters: {
            limit(identity, definition) {
              used.push(identity.name);
              return counters.limit(identity, definition);
            },
          },
        }),
        ready: () => Promise.resolve(),
        release() {},
      })),
    })
  );

  assert.equal(plans, 3);
  // Two limits for each of two ports.
  assert.equal(used.length, 4);
});

Deno.test("an expression that many routes have is compiled once", () => {
  const { gateways, httpRoutes } = manyRoutes(20);
  const gatewayPolicies = httpRoutes.map(({ metadata: { name } }) =>
    policy(name, [{
      group: "gateway.networking.k8s.io",
      kind: "HTTPRoute",
      name,
    }], {
      traffic: {
        rateLimit: limits,
        authorization: {
          action: "Allow",
          policy: { matchExpressions: ["jwt.sub == 'a'"] },
        },
        transformation: {
          request: { set: [{ name: "x-a", value: "jwt.sub + 'b'" }] },
        },
      },
    })
  );

  const plans = countPlans(() =>
    void compileAll({ gateways, httpRoutes, gatewayPolicies })
  );

  assert.equal(plans, 5);
});

Deno.test("routes with the same limits share a policy, and those with limits of their own do not", () => {
  const { gateways, httpRoutes } = manyRoutes(3);
  const own = [{
    group: "gateway.networking.k8s.io",
    kind: "HTTPRoute",
    name: "r2",
  }];
  const compiled = compileAll({
    gateways,
    httpRoutes,
    gatewayPolicies: [
      policy("all", GATEWAY, { traffic: { rateLimit: limits } }),
      policy("own", own, { traffic: { rateLimit: limits } }),
    ],
  });
  const policyOf = (target: string) => routeFor(compiled, { target })?.policies;

  assert.equal(policyOf("/0")?.length, 1);
  assert.equal(policyOf("/0")?.[0], policyOf("/1")?.[0]);
  assert.equal(policyOf("/2")?.length, 1);
  assert.notEqual(policyOf("/2")?.[0], policyOf("/0")?.[0]);
});

for (
  const [kind, traffic, message] of [
    [
      "requestHeaderModifier",
      { remove: ["Host"] },
      'Cannot remove header "Host": the gateway writes it itself',
    ],
    [
      "rateLimit",
      { local: [{ requests: 1, unit: "Minutes", key: "jtw.sub" }] },
      'Cannot use the expression: unknown variable "jtw" at column 1',
    ],
    [
      "jwtAuthentication",
      {
        providers: [{
          issuer: "https://idp.example.com",
          jwks: { url: "https://idp.example.com/jwks" },
        }],
        mcp: {
          issuerMode: "Proxied",
          clientId: "c",
          clientSecretRef: { name: "idp" },
        },
      },
      'Secret "default/idp" not found',
    ],
  ] as const
) {
  Deno.test(`a ${kind} with an error denies every request`, () => {
    const compiled = compileAll({
      ...manyRoutes(1),
      gatewayPolicies: [policy("p", GATEWAY, { traffic: { [kind]: traffic } })],
    });
    const [only, ...others] = routeFor(compiled, { target: "/0" })?.policies ??
      [];

    assert.deepEqual(others, []);
    assert.throws(() => only?.onRequest?.(context({})), {
      code: "invalid_policy",
      message,
    });
    assert.match(diagnosticLines(compiled).join("\n"), /^error /m);
  });
}
