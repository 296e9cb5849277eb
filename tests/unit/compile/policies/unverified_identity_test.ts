import assert from "node:assert/strict";
import {
  backend,
  compileAll,
  diagnosticLines,
  gateway,
  policy,
  route,
  to,
} from "../resources.ts";

/** Returns the warnings of a rule of a route, with other policies of the route or its gateway. */
function warningsOf(
  rule: string,
  { ofRoute = {}, ofGateway }: {
    readonly ofRoute?: Readonly<Record<string, unknown>>;
    readonly ofGateway?: Readonly<Record<string, unknown>>;
  } = {},
): readonly string[] {
  const group = "gateway.networking.k8s.io";
  const authorization = { policy: { matchExpressions: [rule] } };
  const at = (kind: string, name: string) => [{ group, kind, name }];
  return diagnosticLines(compileAll({
    gateways: [gateway("gw")],
    gatewayBackends: [backend("b")],
    httpRoutes: [route("r", { rules: [{ backendRefs: [to("b")] }] })],
    gatewayPolicies: [
      policy("rule", at("HTTPRoute", "r"), {
        traffic: { authorization, ...ofRoute },
      }),
      ...ofGateway === undefined ? [] : [
        policy("gw", at("Gateway", "gw"), ofGateway),
      ],
    ],
  }));
}

const at =
  "warning GatewayPolicy/default/rule spec.traffic.authorization.policy.matchExpressions.0";
const apiKeyAuthentication = { keys: [{ key: "0123456789abcdef" }] };

Deno.test("a rule about an identity that no policy verifies gets a warning", () => {
  assert.deepEqual(warningsOf("apiKey.team == 'red'"), [
    `${at}: No policy sets "apiKey" here: add "apiKeyAuthentication" to the route or its gateway, or the rule denies requests`,
  ]);
  assert.deepEqual(
    warningsOf("jwt.sub == 'a'", { ofRoute: { apiKeyAuthentication } }),
    [
      `${at}: No policy sets "jwt" here: add "jwtAuthentication" to the route or its gateway, or the rule denies requests`,
    ],
  );
});

for (
  const [what, rule, others] of [
    ["that its route verifies", "apiKey.team == 'red'", {
      ofRoute: { apiKeyAuthentication },
    }],
    ["that its gateway verifies", "apiKey.team == 'red'", {
      ofGateway: { traffic: { apiKeyAuthentication } },
    }],
    ["that is verified before routing", "apiKey.team == 'red'", {
      ofGateway: { traffic: { apiKeyAuthentication }, phase: "PreRouting" },
    }],
    ["whose presence it tests", "!has(apiKey.team) || apiKey.team == 'a'", {}],
    ["of the request", "request.method == 'GET'", {}],
  ] as const
) {
  Deno.test(`a rule about an identity ${what} gets no warning`, () => {
    assert.deepEqual(warningsOf(rule, others), []);
  });
}
