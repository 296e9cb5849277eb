import assert from "node:assert/strict";
import { POLICY_API_GROUP } from "../../../../src/api/schema/group.ts";
import {
  backend,
  compileAll,
  decode,
  diagnosticLines,
  gateway,
  policy,
  route,
} from "../resources.ts";

const foreign = { name: "idp", namespace: "other" };
/** Kinds of policies that call a backend themselves. */
const policies = [
  ["spec.traffic.jwtAuthentication.providers.0.jwks.remote.backendRef", {
    jwtAuthentication: {
      providers: [{
        issuer: "https://idp.example",
        audiences: ["a"],
        jwks: { remote: { backendRef: foreign, jwksPath: "/keys" } },
      }],
    },
  }],
  ["spec.traffic.rateLimit.global.store.service.backendRef", {
    rateLimit: {
      global: {
        domain: "d",
        store: { service: { backendRef: foreign } },
        descriptors: [{
          ...{ requests: 1, unit: "Minutes" },
          entries: [{ key: "k", value: "'v'" }],
        }],
      },
    },
  }],
] as const;

function problemsOf(traffic: object, grants: readonly object[]) {
  return diagnosticLines(compileAll({
    gateways: [gateway("gw")],
    httpRoutes: [route("mcp")],
    gatewayBackends: [
      backend("idp", { protocol: "HTTP2" }, { namespace: "other" }),
    ],
    gatewayPolicies: [
      policy("p", [{ kind: "HTTPRoute", name: "mcp" }], { traffic }),
    ],
    referenceGrants: grants.map((spec) =>
      decode("ReferenceGrant", { name: "g", namespace: "other" }, spec)
    ),
  })).filter((line) => line.includes("other"));
}

for (const [path, traffic] of policies) {
  Deno.test(`a policy calls no backend of another namespace without a ReferenceGrant: ${path}`, () => {
    const [problem = "", ...more] = problemsOf(traffic, []);
    assert.deepEqual(more, []);
    assert(
      problem.startsWith(`error GatewayPolicy/default/p ${path}.namespace: `),
      problem,
    );
    assert.match(
      problem,
      /Cannot refer to backend "other\/idp": no ReferenceGrant of "other" allows it/,
    );
    const from = [{
      ...{ group: POLICY_API_GROUP, kind: "GatewayPolicy" },
      namespace: "default",
    }];
    const to = [{ group: POLICY_API_GROUP, kind: "GatewayBackend" }];
    assert.deepEqual(problemsOf(traffic, [{ from, to }]), []);
  });
}
