import assert from "node:assert/strict";
import { createLocalJWKSet, jwtVerify } from "jose";
import type { Idp } from "../../../cli/dev/idp/idp.ts";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { startIdpB } from "../../../cli/dev/mock_idp_b.ts";
import {
  decodeClaims,
  readMetadata,
  requestUserToken,
} from "../../harness/clients/oauth_exchange.ts";

const api = "https://mcp.example.com/mcp";

Deno.test("IdpA has a trailing slash in its issuer and the paths of a tenant", async () => {
  await using idp = await startIdpA();

  const metadata = await readMetadata(idp);
  const copy = await fetch(
    `${idp.origin}/.well-known/oauth-authorization-server`,
  );

  assert.equal(metadata.issuer, `${idp.origin}/`);
  assert.equal(metadata.authorization_endpoint, `${idp.origin}/authorize`);
  assert.equal(metadata.token_endpoint, `${idp.origin}/oauth/token`);
  assert.equal(metadata.registration_endpoint, `${idp.origin}/oidc/register`);
  assert.equal(metadata.jwks_uri, idp.origin + idp.jwksPath);
  assert(!("authorization_response_iss_parameter_supported" in metadata));
  assert.deepEqual(await copy.json(), metadata);
});

Deno.test("IdpA issues a JWT with permissions to a user whose client requests an audience", async () => {
  await using idp = await startIdpA({ permissions: ["read:mcp"] });

  const { access_token } = await requestUserToken(idp, { audience: api });

  const { iss, aud, sub, permissions } = decodeClaims(access_token);
  assert.deepEqual({ iss, aud, sub, permissions }, {
    iss: `${idp.origin}/`,
    aud: api,
    sub: "ada",
    permissions: ["read:mcp"],
  });
});

Deno.test("IdpA issues an opaque token to a client that sends resource and no audience", async () => {
  await using idp = await startIdpA();

  const { access_token } = await requestUserToken(idp, { resource: api });

  assert.match(String(access_token), /^[\w-]+$/);
});

Deno.test("IdpA follows the audience when resource says something else", async () => {
  await using idp = await startIdpA();

  const { access_token } = await requestUserToken(idp, {
    audience: api,
    resource: "http://127.0.0.1:3000/mcp",
  });

  assert.equal(decodeClaims(access_token).aud, api);
});

for (
  const permissions of [
    "read:mcp",
    { "read:mcp": true },
    7,
    null,
    undefined,
  ]
) {
  Deno.test(`IdpA issues permissions of any shape: ${JSON.stringify(permissions)}`, async () => {
    await using idp = await startIdpA({
      permissions: ["user"],
      machinePermissions: permissions,
    });

    const token = await idp.issueMachineToken(api);

    assert.deepEqual(decodeClaims(token).permissions, permissions);
  });
}

for (const registration of [true, false]) {
  Deno.test(`IdpA with registration ${registration ? "on registers" : "off does not register"} a client`, async () => {
    await using idp = await startIdpA({ registration });

    const metadata = await readMetadata(idp);
    const response = await register(`${idp.origin}/oidc/register`);

    assert.equal("registration_endpoint" in metadata, registration);
    assert.equal(response.status, registration ? 201 : 404);
    await response.body?.cancel();
  });
}

Deno.test("IdpB has an issuer for one MCP server and keys for the project", async () => {
  await using idp = await startIdpB({ projectId: "P1", serverId: "MS1" });

  const metadata = await readMetadata(idp);
  const copy = await fetch(
    `${idp.origin}/.well-known/oauth-authorization-server/v1/apps/agentic/P1/MS1`,
  );

  assert.equal(idp.issuer, `${idp.origin}/v1/apps/agentic/P1/MS1`);
  assert.equal(idp.jwksPath, "/P1/.well-known/jwks.json");
  assert.equal(metadata.issuer, idp.issuer);
  assert.equal(metadata.authorization_endpoint, `${idp.issuer}/authorize`);
  assert.equal(metadata.authorization_response_iss_parameter_supported, true);
  assert.deepEqual(await copy.json(), metadata);
});

Deno.test("IdpB has no keys for another project", async () => {
  await using idp = await startIdpB({ projectId: "P1" });

  const response = await fetch(`${idp.origin}/P2/.well-known/jwks.json`);

  assert.equal(response.status, 404);
  await response.body?.cancel();
});

for (
  const { tenant, expected } of [
    { tenant: undefined, expected: { roles: ["editor"], tenants: undefined } },
    {
      tenant: "T1",
      expected: { roles: undefined, tenants: { T1: { roles: ["editor"] } } },
    },
  ]
) {
  Deno.test(`IdpB issues roles ${tenant === undefined ? "without" : "of"} a tenant for the resource requested`, async () => {
    await using idp = await startIdpB({
      roles: ["editor"],
      ...(tenant !== undefined && { tenant }),
    });

    const { access_token } = await requestUserToken(idp, { resource: api });

    const { aud, iss, roles, tenants } = decodeClaims(access_token);
    assert.deepEqual({ aud, iss }, { aud: api, iss: idp.issuer });
    assert.deepEqual({ roles, tenants }, expected);
  });
}

Deno.test("IdpB registers a client only with the management key", async () => {
  await using idp = await startIdpB({
    projectId: "P1",
    serverId: "MS1",
    managementKey: "K1",
  });
  const endpoint = `${idp.origin}/v1/mgmt/mcp/client/P1/MS1/register`;

  const refused = await register(endpoint);
  const accepted = await register(endpoint, { authorization: "Bearer K1" });

  assert.deepEqual([refused.status, accepted.status], [401, 201]);
  await Promise.all([refused.body?.cancel(), accepted.body?.cancel()]);
});

for (
  const { name, start } of [
    { name: "IdpA", start: () => startIdpA({ scopes: ["mcp:tools"] }) },
    { name: "IdpB", start: () => startIdpB({ scopes: ["mcp:tools"] }) },
  ]
) {
  Deno.test(`${name} grants the scopes it knows`, async () => {
    await using idp = await start();

    const { access_token, scope } = await requestUserToken(idp, {
      audience: api,
      resource: api,
      scope: "mcp:tools unknown",
    });

    assert.equal(scope, "mcp:tools");
    assert.equal(decodeClaims(access_token).scope, "mcp:tools");
  });

  Deno.test(`${name} signs with another key after a rotation`, async () => {
    await using idp = await start();
    const oldToken = await idp.issueMachineToken(api);

    await idp.rotateKeys();
    const newToken = await idp.issueMachineToken(api);

    const keys = createLocalJWKSet(await readKeys(idp));
    await assert.rejects(jwtVerify(oldToken, keys), {
      code: "ERR_JWKS_NO_MATCHING_KEY",
    });
    const { payload } = await jwtVerify(newToken, keys, { audience: api });
    assert.equal(payload.iss, idp.issuer);
  });

  Deno.test(`${name} comes back at the same origin with the same keys`, async () => {
    await using idp = await start();
    const before = await readKeys(idp);

    await idp.stop();
    await assert.rejects(readKeys(idp));
    await idp.start();

    assert.deepEqual(await readKeys(idp), before);
  });

  Deno.test(`${name} tells of every request it gets`, async () => {
    const requests: string[] = [];
    await using idp = await (name === "IdpA" ? startIdpA : startIdpB)({
      onRequest: (line) => requests.push(line),
    });

    await readKeys(idp);

    assert.deepEqual(requests, [`GET ${idp.jwksPath}`]);
  });
}

function register(
  endpoint: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(endpoint, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({
      redirect_uris: ["http://127.0.0.1:9/callback"],
      token_endpoint_auth_method: "none",
    }),
  });
}

async function readKeys(idp: Idp): Promise<{ keys: [] }> {
  const response = await fetch(idp.origin + idp.jwksPath);
  return await response.json();
}
