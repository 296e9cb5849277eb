import assert from "node:assert/strict";
import { textSource, validateConfiguration } from "../../../mod.ts";
import { initializeMcp } from "../../harness/clients/initialize_mcp.ts";
import {
  type ProxiedOptions,
  startProxiedGateway,
} from "../../harness/gateway/proxied_gateway.ts";

const CLIENT_SECRET = "client-planted-0f6b1ce2";
const STATE_SECRET = "state-planted-0f6b1ce2-of-more-than-32";

function secret(
  name: string,
  values: Readonly<Record<string, string>>,
  namespace = "default",
) {
  const metadata = { name, namespace };
  const data = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, btoa(value)]),
  );
  return { apiVersion: "v1", kind: "Secret", metadata, data };
}

function grant(namespace: string) {
  const group = "policy.gateway.internal";
  return {
    apiVersion: "gateway.networking.k8s.io/v1beta1",
    kind: "ReferenceGrant",
    metadata: { name: "logins", namespace },
    spec: {
      from: [{ group, kind: "GatewayPolicy", namespace: "default" }],
      to: [{ group: "", kind: "Secret" }],
    },
  };
}

const withSecrets: ProxiedOptions = {
  idp: { clientSecret: CLIENT_SECRET },
  mcp: {
    clientSecretRef: { name: "idp", namespace: "secrets" },
    stateSecretRef: { name: "logins", key: "seal" },
  },
  resources: [
    secret("idp", { clientSecret: `${CLIENT_SECRET}\n` }, "secrets"),
    grant("secrets"),
    secret("logins", { seal: STATE_SECRET }),
  ],
};

Deno.test("logins use the secrets of Secrets, which are shown nowhere", async () => {
  await using server = await startProxiedGateway(withSecrets);
  const client = await server.registerClient();

  const { status, body } = await server.redeem(
    client,
    await server.code(client),
  );

  assert.equal(status, 200);
  const opened = await initializeMcp(server.gateway, body.access_token);
  assert.equal(opened.status, 200);
  await using replica = await startProxiedGateway(withSecrets);
  const url = new URL(replica.authorizeUrl(client));
  const known = await fetch(url, { redirect: "manual" });
  await known.body?.cancel();
  assert.ok(known.status < 400, `a replica does not know the client`);
  const shown = JSON.stringify([server.gateway.accessLog, body]);
  for (const planted of [CLIENT_SECRET, STATE_SECRET]) {
    assert.ok(!shown.includes(planted));
  }
});

Deno.test("a provider rejects logins with another secret than its own", async () => {
  await using server = await startProxiedGateway({
    ...withSecrets,
    idp: { clientSecret: "another" },
  });
  const client = await server.registerClient();

  await assert.rejects(async () => {
    const { status } = await server.redeem(client, await server.code(client));
    assert.equal(status, 200);
  });
});

const MISSING = /Secret "default\/logins" not found/;

for (
  const [what, resources, problem] of [
    ["that does not exist", [], MISSING],
    [
      "without the entry",
      [secret("logins", { other: STATE_SECRET })],
      /Secret "default\/logins" has no entry "stateSecret"/,
    ],
    [
      "with a short secret",
      [secret("logins", { stateSecret: "short-planted" })],
      /entry "stateSecret" of Secret "logins" has a secret that is shorter than 32 characters/,
    ],
    [
      "that is no text",
      [{ ...secret("logins", {}), data: { stateSecret: "%planted%" } }],
      /entry "stateSecret" of Secret "default\/logins" is not base64 of UTF-8 text/,
    ],
  ] as const
) {
  Deno.test(`a Secret ${what} is an error that says where`, async () => {
    const text = await check({ name: "logins" }, resources);

    assert.match(text, /stateSecretRef: Cannot use the secret: /);
    assert.match(text, problem);
    assert.ok(!text.includes("planted"), text);
  });
}

Deno.test("a Secret of another namespace needs a ReferenceGrant", async () => {
  const resources = [secret("logins", { stateSecret: STATE_SECRET }, "other")];
  const ref = { name: "logins", namespace: "other" };

  const denied = await check(ref, resources);
  const allowed = await check(ref, [...resources, grant("other")]);

  assert.match(
    denied,
    /no ReferenceGrant of namespace "other" allows Secret "other\/logins"/,
  );
  assert.doesNotMatch(allowed, /error/);
});

Deno.test("a secret has one place", async () => {
  const text = await check({ name: "logins" }, [
    secret("logins", { stateSecret: STATE_SECRET }),
  ], { stateSecret: STATE_SECRET });

  assert.match(
    text,
    /stateSecretRef: "stateSecret" is set too: remove one of them/,
  );
});

async function check(
  stateSecretRef: object,
  resources: readonly unknown[],
  mcp: object = {},
): Promise<string> {
  const jwtAuthentication = {
    providers: [{
      issuer: "https://idp.example.com",
      audiences: ["a"],
      jwks: { url: "https://idp.example.com/jwks" },
    }],
    mcp: { issuerMode: "Proxied", clientId: "c", stateSecretRef, ...mcp },
  };
  const documents = [{
    gateways: { default: { port: 1 } },
    routes: [{
      name: "mcp",
      backends: [{ host: "127.0.0.1:9" }],
      policies: { jwtAuthentication },
    }],
  }, ...resources];
  const source = textSource(
    documents.map((document) => JSON.stringify(document)).join("\n---\n"),
  );
  const { text } = await validateConfiguration(source, {});
  return text;
}
