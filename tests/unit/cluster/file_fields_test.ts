import assert from "node:assert/strict";
import { POLICY_API_GROUP } from "../../../src/api/schema/group.ts";
import { toJsonDefinitions } from "../../../src/api/schema/json_schema.ts";
import { createCollections } from "../../../src/cluster/source/collections.ts";
import { readObject } from "../../../src/cluster/source/read_objects.ts";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";

const jwks = { inline: '{"keys":[]}' };
const provider = { issuer: "https://i.example", audiences: ["a"], jwks };
const filePolicies = {
  "jwtAuthentication.providers.0.jwks.file": {
    jwtAuthentication: { providers: [{ ...provider, jwks: { file: "/k" } }] },
  },
  "jwtAuthentication.providers.0.introspection.clientSecretFile": {
    jwtAuthentication: {
      providers: [{
        issuer: provider.issuer,
        introspection: { clientId: "c", clientSecretFile: "/k" },
      }],
    },
  },
  "jwtAuthentication.providers.0.introspection.privateKeyFile": {
    jwtAuthentication: {
      providers: [{
        issuer: provider.issuer,
        introspection: { clientId: "c", privateKeyFile: "/k" },
      }],
    },
  },
  "jwtAuthentication.mcp.clientSecretFile": {
    jwtAuthentication: {
      providers: [provider],
      mcp: { issuerMode: "Proxied", clientId: "c", clientSecretFile: "/k" },
    },
  },
  "jwtAuthentication.mcp.stateSecretFile": {
    jwtAuthentication: {
      providers: [provider],
      mcp: { issuerMode: "Proxied", clientId: "c", stateSecretFile: "/k" },
    },
  },
  "oidc.caFile": {
    oidc: { issuer: "https://i", clientId: "c", caFile: "/k" },
  },
  "oidc.clientSecretFile": {
    oidc: { issuer: "https://i", clientId: "c", clientSecretFile: "/k" },
  },
  "oidc.cookieSecretFile": {
    oidc: { issuer: "https://i", clientId: "c", cookieSecretFile: "/k" },
  },
  "jwtAuthentication.mcp.tokenClients.0.jwks.file": {
    jwtAuthentication: {
      providers: [provider],
      mcp: {
        issuerMode: "Proxied",
        clientId: "c",
        tokenClients: [{ clientId: "m", jwks: { file: "/k" } }],
      },
    },
  },
  "jwtAuthentication.mcp.assertionIssuers.0.jwks.file": {
    jwtAuthentication: {
      providers: [provider],
      mcp: {
        issuerMode: "Proxied",
        clientId: "c",
        assertionIssuers: [{
          issuer: "https://i.example",
          jwks: { file: "/k" },
        }],
      },
    },
  },
  "basicAuthentication.file": { basicAuthentication: { file: "/k" } },
};
for (const [field, traffic] of Object.entries(filePolicies)) {
  Deno.test(`a policy of a cluster cannot read a file of the gateway with ${field}`, () => {
    const { resource, rejections } = readPolicy(traffic);

    assert(resource?.kind === "GatewayPolicy");
    assert.deepEqual(resource.spec.traffic, {
      directResponse: { status: 500, body: "invalid policy" },
    });
    assert.deepEqual(
      rejections.map(({ message }) => message),
      [
        `spec.traffic.${field}: a policy of the cluster cannot read files of the gateway`,
      ],
    );
  });
}

Deno.test("every field of a policy that names a file is known as one", async () => {
  const { GatewayPolicy } = schemasOf().kinds;
  const text = JSON.stringify(await toJsonDefinitions({ GatewayPolicy }));

  const fields = [...text.matchAll(/"(\w*file)":\{/gi)].map(([, name]) => name);

  assert.deepEqual(
    [...new Set(fields)].toSorted(),
    [
      "caFile",
      "clientSecretFile",
      "cookieSecretFile",
      "file",
      "privateKeyFile",
      "stateSecretFile",
    ],
  );
  assert.equal(fields.filter((name) => name === "file").length, 4);
});

function readPolicy(traffic: object) {
  const collection = createCollections(POLICY_API_GROUP)
    .find(({ kind }) => kind === "GatewayPolicy");
  assert(collection !== undefined);
  const policy = {
    apiVersion: `${POLICY_API_GROUP}/v1alpha1`,
    kind: "GatewayPolicy",
    metadata: { name: "p", namespace: "default", uid: "u1" },
    spec: {
      targetRefs: [{
        group: "gateway.networking.k8s.io",
        kind: "HTTPRoute",
        name: "r",
      }],
      traffic,
    },
  };
  return readObject(policy, collection, {
    schemas: schemasOf().kinds,
    policyApiGroup: POLICY_API_GROUP,
    isManaged: false,
  });
}
