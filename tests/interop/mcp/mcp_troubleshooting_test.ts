/** The promises of the pages about MCP login: their configurations, and the rows of the table of symptoms. */
import assert from "node:assert/strict";
import {
  initializeMcp,
  type McpResponse,
} from "../../harness/clients/initialize_mcp.ts";
import type { Idp } from "../../../cli/dev/idp/idp.ts";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { startIdpB } from "../../../cli/dev/mock_idp_b.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import {
  clientV2,
  mcpClients,
  sdkV1,
  visit,
} from "../../harness/clients/mcp_clients.ts";
import {
  readMetadata,
  requestUserToken,
} from "../../harness/clients/oauth_exchange.ts";
import {
  blocksOf,
  type DocumentedGateway,
  type Edits,
  sectionOf,
  startDocumentedGateway,
} from "../../harness/gateway/documented_gateway.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";

const permissions = ["call:mcp"];
const roles = ["editor"];
const upstream = { "issuerMode: Proxied": "issuerMode: Upstream" };
const underOurName = { "issuerMode: Proxied": "issuerMode: Gateway" };
const resourceMetadata =
  '          resourceMetadata: { resource: "https://mcp.example.com/mcp" }\n';
const wellKnown = "/.well-known/oauth-authorization-server/mcp";
const symptoms = sectionOf("Troubleshooting");

for (const client of mcpClients) {
  Deno.test(`${client.name} logs in at Auth0 with the documented configuration`, async () => {
    await using gateway = await startDocumentedGateway(
      "Auth0",
      (redirectUris) =>
        startIdpA({ permissions, registration: false, redirectUris }),
    );

    assert((await visit(client, gateway)).includes("echo"));
  });

  Deno.test(`${client.name} logs in at Descope with the documented configuration`, async () => {
    await using gateway = await startDocumentedGateway(
      "Descope",
      (redirectUris) => startIdpB({ roles, redirectUris }),
    );

    assert((await visit(client, gateway)).includes("echo"));
  });

  Deno.test(`${client.name} with a client ID logs in at Descope with the documented configuration and issuerMode Upstream`, async () => {
    const idp = await startIdpB({ roles });
    const { clientId } = idp;
    await using gateway = await startDocumentedGateway(
      "Descope",
      idp,
      upstream,
    );

    assert((await visit(client, { ...gateway, clientId })).includes("echo"));
  });
}

Deno.test("MCP client v2 logs in at Auth0 with the documented settings of mode Gateway", async () => {
  const [, settings = ""] = /`(\{ provider: Auth0,.*?\})`/s
    .exec(sectionOf("Auth0")) ?? [];
  const [configuration = ""] = blocksOf("Auth0", "yaml");
  const [proxied = ""] = /^ {8}mcp:\n(?: {10}.*\n)+/m.exec(configuration) ?? [];
  await using gateway = await startDocumentedGateway(
    "Auth0",
    await startIdpA({ permissions, registration: false }),
    { [proxied]: `        mcp: ${settings.replaceAll("\n", " ")}\n` },
  );

  assert((await visit(clientV2, gateway)).includes("echo"));
  const { authorization_endpoint: endpoint } = await (await fetch(
    `${gateway.origin}${wellKnown}`,
  )).json();
  assert.match(endpoint, /\?audience=/);
});

Deno.test("MCP client v2 reports the documented error for a provider that sends iss", async () => {
  await using gateway = await startDocumentedGateway(
    "Descope",
    await startIdpB({ roles }),
    underOurName,
  );

  const error: Error = await visit(clientV2, gateway).then(
    () => assert.fail("logged in"),
    (error) => error,
  );

  assert.match(error.message, /issuer mismatch/i);
  assertListed("issuer mismatch");
});

Deno.test("the documented rule finds roles of a tenant", async () => {
  const rule = "'editor' in jwt.tenants['TENANT'].roles";
  assert(sectionOf("Descope").includes(`\`${rule}\``));
  const idp = await startIdpB({ roles, tenant: "TENANT" });
  await using gateway = await startDocumentedGateway("Descope", idp, {
    "'editor' in jwt.roles": rule,
  });

  const token = await userToken(idp, { resource: gateway.url });

  assert.equal((await initializeMcp(gateway, token)).status, 200);
});

const rejections: readonly {
  readonly symptom: string;
  readonly edits?: Edits;
  readonly parameters?: (url: string) => Readonly<Record<string, string>>;
}[] = [
  { symptom: "token is opaque, not a JWT", parameters: () => ({}) },
  {
    symptom: "token issuer is not accepted",
    edits: {
      "issuer: https://tenant.example.com/":
        "issuer: https://tenant.example.com",
    },
  },
  {
    symptom: "token audience is not accepted",
    parameters: (url) => ({ audience: `${url}/` }),
  },
];
for (const { symptom, edits, parameters } of rejections) {
  Deno.test(`the gateway rejects a token with the documented error: ${symptom}`, async () => {
    const idp = await startIdpA({ permissions });
    await using gateway = await startDocumentedGateway("Auth0", idp, edits);
    const { url } = gateway;

    const token = await userToken(
      idp,
      parameters?.(url) ?? { audience: url },
    );

    assertRejected(await initializeMcp(gateway, token), 401, symptom);
  });
}

Deno.test("the gateway rejects a key of another tenant with the documented error", async () => {
  await using other = await startIdpA();
  const idp = await startIdpA({ permissions });
  await using gateway = await startDocumentedGateway("Auth0", idp, {
    'url: "https://tenant.example.com': `url: "${other.origin}`,
  });

  const token = await userToken(idp, { audience: gateway.url });

  assertRejected(
    await initializeMcp(gateway, token),
    401,
    "token key is unknown",
  );
});

Deno.test("the gateway reports clocks that differ with the documented errors, and clockSkew helps", async () => {
  const issuer = await createTokenIssuer();
  const edits = {
    "https://tenant.example.com/": issuer.issuer,
    'url: "https://tenant.example.com/.well-known/jwks.json"': `inline: '${
      jwksOf(issuer)
    }'`,
  };
  const skewed = {
    ...edits,
    "        mcp:\n": "        clockSkew: 120s\n        mcp:\n",
  };
  await using gateway = await startDocumentedGateway(
    "Auth0",
    await startIdpA(),
    edits,
  );
  await using patient = await startDocumentedGateway(
    "Auth0",
    await startIdpA(),
    skewed,
  );
  const now = Math.floor(Date.now() / 1000);
  const cases = [
    { claims: { exp: now - 90 }, symptom: "token has expired" },
    { claims: { iat: now + 90 }, symptom: "token is issued in the future" },
    { claims: { nbf: now + 90 }, symptom: "token is not valid yet" },
  ];

  for (const { claims, symptom } of cases) {
    const sign = ({ url }: DocumentedGateway) =>
      issuer.sign({ aud: url, permissions, ...claims });
    assertRejected(
      await initializeMcp(gateway, await sign(gateway)),
      401,
      symptom,
    );
    assert.equal(
      (await initializeMcp(patient, await sign(patient))).status,
      200,
      symptom,
    );
  }
});

Deno.test("a user or a machine client without the permission gets the documented 403", async () => {
  const idp = await startIdpA({ permissions: undefined });
  await using gateway = await startDocumentedGateway("Auth0", idp);
  const audience = gateway.url;

  for (
    const token of [
      await userToken(idp, { audience }),
      await idp.issueMachineToken(audience),
    ]
  ) {
    const response = await initializeMcp(gateway, token);

    assert.equal(response.status, 403);
    assert.equal(response.body.error, "forbidden");
  }
  assertListed("forbidden");
});

Deno.test("a missing scope gets the documented 403, and clients read scopesSupported", async () => {
  const idp = await startIdpA();
  await using gateway = await startDocumentedGateway("Auth0", idp, {
    "'call:mcp' in jwt.permissions": "'write' in jwt.scope.split(' ')",
    'mcp.example.com/mcp" }\n      authorization':
      'mcp.example.com/mcp", scopesSupported: [write] }\n      authorization',
  });
  const token = await idp.issueMachineToken(gateway.url);

  const { status, body, challenge } = await initializeMcp(gateway, token);
  const metadata = await (await fetch(
    `${gateway.origin}/.well-known/oauth-protected-resource/mcp`,
  )).json();

  assert.equal(status, 403);
  assert.equal(body.error, "insufficient_scope");
  assert.match(challenge, /scope="write"/);
  assert.deepEqual(metadata.scopes_supported, ["write"]);
  assertListed("insufficient_scope");
});

Deno.test("missing keys get the documented 503, and the log has the cause", async () => {
  const idp = await startIdpB({ roles });
  await using gateway = await startDocumentedGateway("Descope", idp, {
    "/PROJECT/.well-known": "/WRONG/.well-known",
  });
  const token = await userToken(idp, { resource: gateway.url });

  assertRejected(
    await initializeMcp(gateway, token),
    503,
    "the keys of the identity provider are not available",
  );
  assert.match(gateway.log.join("\n"), /WRONG.*404/);
});

Deno.test("missing metadata gets the documented 503", async () => {
  const idp = await startIdpA();
  await using gateway = await startDocumentedGateway("Auth0", idp);
  await idp.stop();

  const response = await fetch(gateway.origin + wellKnown);

  assertRejected(
    { status: response.status, body: await response.json() },
    503,
    "the metadata of the identity provider is not available",
  );
  assert.match(
    gateway.log.join("\n"),
    /oauth-authorization-server|openid-configuration/,
  );
});

Deno.test("without the CORS filter every page may read the metadata, and none the responses of the server", async () => {
  await using gateway = await startDocumentedGateway(
    "Auth0",
    await startIdpA(),
  );
  const headers = { origin: "https://app.example.com" };

  const document = await fetch(gateway.origin + wellKnown, { headers });
  await document.body?.cancel();
  const call = await fetch(gateway.url, { headers });
  await call.body?.cancel();

  assert.equal(document.headers.get("access-control-allow-origin"), "*");
  assert.equal(call.headers.get("access-control-allow-origin"), null);
  assertListed("blocked by CORS policy");
});

Deno.test("registration without clientId fails as documented", async () => {
  const without = { ...underOurName, "          clientId: my-client\n": "" };
  await using b = await startDocumentedGateway(
    "Descope",
    await startIdpB(),
    without,
  );
  await using a = await startDocumentedGateway(
    "Auth0",
    await startIdpA({ registration: false }),
    without,
  );
  const register = async ({ origin }: DocumentedGateway) => {
    const response = await fetch(`${origin}${wellKnown}/client-registration`, {
      method: "POST",
      body: JSON.stringify({ redirect_uris: ["http://127.0.0.1/callback"] }),
    });
    await response.body?.cancel();
    return response.status;
  };

  assert.deepEqual([await register(b), await register(a)], [401, 404]);
  await assert.rejects(
    visit(sdkV1, a),
    /does not support dynamic client registration/,
  );
  assertListed("does not support dynamic client registration");
});

Deno.test("the provider rejects a callback that is not registered", async () => {
  const idp = await startIdpA();
  await using _gateway = await startDocumentedGateway("Auth0", idp);
  const { authorization_endpoint: endpoint } = await readMetadata(idp);

  const response = await fetch(
    `${endpoint}?response_type=code&client_id=${idp.clientId}&redirect_uri=http://127.0.0.1/elsewhere`,
    { redirect: "manual" },
  );

  assert.equal(response.status, 400);
  assert.match(await response.text(), /redirect_uri.*registered/);
});

Deno.test("metadata behind a load balancer has the public URL in both documented ways", async () => {
  await using set = await startDocumentedGateway("Auth0", await startIdpA());
  await using unset = await startDocumentedGateway("Auth0", await startIdpA(), {
    [resourceMetadata]: "",
  });
  await using trusting = await startDocumentedGateway(
    "Auth0",
    await startIdpA(),
    {
      "gateways:\n":
        'config: { trustedProxies: ["127.0.0.1/32"] }\ngateways:\n',
      [resourceMetadata]: "",
    },
  );

  assert.equal(await resourceOf(set), set.url);
  assert.equal(await resourceOf(unset), "http://inner/mcp");
  assert.equal(await resourceOf(trusting), "https://outer.example.com/mcp");
});

/** Requests the metadata like a load balancer that terminates TLS. */
async function resourceOf({ origin }: DocumentedGateway): Promise<unknown> {
  const { bytes } = await fetchRaw(
    `${origin}/.well-known/oauth-protected-resource/mcp`,
    {
      headers: {
        host: "inner",
        "x-forwarded-proto": "https",
        "x-forwarded-host": "outer.example.com",
      },
    },
  );
  return JSON.parse(new TextDecoder().decode(bytes)).resource;
}

async function userToken(
  idp: Idp,
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  return String((await requestUserToken(idp, parameters)).access_token);
}

function assertRejected(
  { status, body }: Pick<McpResponse, "status" | "body">,
  expected: number,
  symptom: string,
): void {
  assert.equal(status, expected);
  assert(
    String(body.error_description).startsWith(symptom),
    `${body.error_description}`,
  );
  assertListed(symptom);
}

function assertListed(symptom: string): void {
  assert(
    symptoms.includes(`\`${symptom}\``),
    `docs/mcp_login_reference.md does not list ${symptom}`,
  );
}
