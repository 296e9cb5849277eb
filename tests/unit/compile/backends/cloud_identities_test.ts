import assert from "node:assert/strict";
import { emptyResourceSet } from "../../../../src/api/resources/resource_set.ts";
import { compile } from "../../../../src/compile/compile.ts";
import { builtInPolicies } from "../../../../src/policy/registry.ts";
import { backend } from "../resources.ts";

const inCluster = { uid: "7f1c" };
const scope = { service: "execute-api", region: "eu-west-1" };
const allowed = { clusterCloudIdentity: true };
const client = { tenantId: "t", clientId: "c" };
const secret = { ...client, clientSecret: { key: "planted-secret" } };

for (
  const [what, credentials, metadata, options, problem] of [
    ["AWS in a file", { aws: scope }, {}, {}, undefined],
    [
      "AWS without a service",
      { aws: { region: "r" } },
      {},
      {},
      /"service" is required/,
    ],
    [
      "AWS without a region",
      { aws: { service: "s" } },
      {},
      {},
      /"region" is required/,
    ],
    [
      "AWS in a cluster",
      { aws: scope },
      inCluster,
      {},
      /config\.clusterCloudIdentity/,
    ],
    [
      "AWS in a cluster that allows it",
      { aws: scope },
      inCluster,
      allowed,
      undefined,
    ],
    [
      "Google in a cluster",
      { google: {} },
      inCluster,
      {},
      /config\.clusterCloudIdentity/,
    ],
    [
      "a file of Google in a cluster that allows identities",
      { google: { file: "/key.json" } },
      inCluster,
      allowed,
      /cannot read files of the gateway/,
    ],
    [
      "Azure in a cluster",
      { azure: client },
      inCluster,
      {},
      /config\.clusterCloudIdentity/,
    ],
    ["a client of Azure in a file", { azure: secret }, {}, {}, undefined],
    [
      "a client of Azure in a cluster with its secret in the resource",
      { azure: secret },
      inCluster,
      {},
      /needs "secretRef"/,
    ],
  ] as const
) {
  Deno.test(`an identity: ${what} is ${problem ? "rejected" : "accepted"}`, () => {
    const { diagnostics, snapshot } = compile({
      ...emptyResourceSet,
      gatewayBackends: [backend("api", { credentials }, metadata)],
      isolatesErrors: metadata === inCluster,
    }, { policies: builtInPolicies, readFile: () => "", ...options });

    const [first] = diagnostics;
    if (problem === undefined) assert.equal(first, undefined);
    else assert.match(first?.message ?? "", problem);
    assert.equal(snapshot.backends.has("default/api"), problem === undefined);
  });
}
