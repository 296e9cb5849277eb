import assert from "node:assert/strict";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import {
  audience,
  callMcp,
  guardedRoute,
  startGuardedServer,
} from "../../../harness/servers/guarded_server.ts";
import { IdentityServer } from "../../../harness/login/identity_server.ts";
import { startReloadableGateway } from "../../../harness/gateway/reloadable_gateway.ts";

interface Options {
  readonly mcp: Readonly<Record<string, unknown>>;
  /** Path of the issuer. */
  readonly path?: string;
  readonly config?: Readonly<Record<string, unknown>>;
}

/** A gateway before an MCP server, and the provider it speaks for. */
async function setUp({ mcp, path = "/", config = {} }: Options) {
  await using opening = new AsyncDisposableStack();
  const server = opening.use(startGuardedServer());
  const idp = opening.use(await IdentityServer.start());
  const route = guardedRoute(server, {
    issuer: idp.origin + path,
    jwks: { url: `${idp.origin}/jwks.json` },
    mcp,
    more: { config },
  });
  const gateway = opening.use(await startReloadableGateway([route]));
  const open = opening.move();
  const { origin } = gateway;
  return {
    idp,
    gateway,
    origin,
    resource: `${origin}/.well-known/oauth-protected-resource/mcp`,
    server: `${origin}/.well-known/oauth-authorization-server/mcp`,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

async function readJson(url: string, headers = {}) {
  const { status, bytes } = await fetchRaw(url, { headers });
  assert.equal(status, 200);
  return JSON.parse(new TextDecoder().decode(bytes));
}

Deno.test("metadata of the resource name the gateway as its authorization server, readable for every page", async () => {
  await using story = await setUp({ mcp: { provider: "IdpA" } });

  const response = await fetch(story.resource);

  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  assert.deepEqual(await response.json(), {
    resource: `${story.origin}/mcp`,
    authorization_servers: [`${story.origin}/mcp`],
    mcp_protocol_version: "2025-06-18",
    resource_type: "mcp-server",
    bearer_methods_supported: ["header"],
  });
});

Deno.test("metadata of IdpA name the gateway as issuer, the audience and the provider's registration", async () => {
  await using story = await setUp({ mcp: { provider: "Auth0" } });
  const { idp, origin } = story;

  for (const kind of ["oauth-authorization-server", "openid-configuration"]) {
    assert.deepEqual(await readJson(`${origin}/.well-known/${kind}/mcp`), {
      issuer: `${origin}/mcp`,
      authorization_endpoint:
        `${idp.origin}/authorize?a=b&audience=${audience}`,
      token_endpoint: `${idp.origin}/token`,
      registration_endpoint: `${idp.origin}/oidc/register`,
      jwks_uri: `${idp.origin}/jwks.json`,
      code_challenge_methods_supported: ["S256"],
    });
  }
});

Deno.test("metadata of IdpB point registration at the gateway, which forwards the rejection of the provider", async () => {
  await using story = await setUp({
    mcp: { provider: "IdpB" },
    path: "/v1/apps/agentic/P1/S1",
  });
  const { idp, server } = story;

  const metadata = await readJson(server);
  assert.equal(metadata.registration_endpoint, `${server}/client-registration`);
  assert.equal(metadata.jwks_uri, `${idp.origin}/P1/.well-known/jwks.json`);
  const answer = await fetch(metadata.registration_endpoint, {
    method: "POST",
    body: "{}",
  });
  assert.equal(answer.status, 401);
  assert.deepEqual(await answer.json(), { error: "unauthorized" });
  assert.equal(
    idp.requests.at(-1)?.replace(/ 127.*/, ""),
    "POST /v1/mgmt/mcp/client/P1/S1/register",
  );
});

Deno.test("registration returns the configured client, and never with a secret", async () => {
  await using story = await setUp({
    mcp: { provider: "IdpB", clientId: "client-1" },
  });
  const client = { client_name: "x", redirect_uris: ["http://localhost/cb"] };

  for (const path of ["register", "client-registration"]) {
    const response = await fetch(`${story.server}/${path}`, {
      method: "POST",
      body: JSON.stringify({ ...client, client_secret: "s" }),
    });
    assert.equal(response.status, 201);
    assert.equal(response.headers.get("cache-control"), "no-store");
    const { client_id_issued_at: issuedAt, ...registered } = await response
      .json();
    assert.equal(typeof issuedAt, "number");
    assert.deepEqual(registered, {
      ...client,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      client_id: "client-1",
      token_endpoint_auth_method: "none",
    });
  }
  const bad = await fetch(`${story.server}/register`, {
    method: "POST",
    body: "{",
  });
  assert.equal(bad.status, 400);
  assert.equal((await bad.json()).error, "invalid_client_metadata");
});

Deno.test("upstream issuer mode names the provider in both documents", async () => {
  await using story = await setUp({
    mcp: { provider: "IdpA", issuerMode: "Upstream" },
  });
  const { idp, origin } = story;

  const resource = await readJson(
    `${origin}/.well-known/oauth-protected-resource`,
  );
  const server = await readJson(story.server);

  assert.equal(resource.resource, `${origin}/mcp`);
  assert.deepEqual(resource.authorization_servers, [`${idp.origin}/`]);
  assert.equal(server.issuer, `${idp.origin}/`);
  assert.equal(server.authorization_response_iss_parameter_supported, true);
});

for (const provider of ["IdpA", "IdpB"]) {
  for (const issuerMode of ["Gateway", "Upstream"]) {
    Deno.test(`metadata of ${provider} about client ID documents and logout is kept in issuer mode ${issuerMode}`, async () => {
      await using story = await setUp({
        mcp: { provider, issuerMode },
        path: "/v1/apps/agentic/P1/S1",
      });
      const more = {
        client_id_metadata_document_supported: true,
        code_challenge_methods_supported: ["S256", "plain"],
        end_session_endpoint: "https://idp.example/logout",
        vendor_extension: { a: [1] },
      };
      story.idp.metadata = { ...more, signed_metadata: "a.b.c" };

      const metadata = await readJson(story.server);

      assert.equal(metadata.signed_metadata, undefined);

      const passed = Object.keys(more).map((name) => [name, metadata[name]]);
      assert.deepEqual(Object.fromEntries(passed), more);
    });
  }
}

for (
  const { who, trustedProxies, origin } of [
    {
      who: "a trusted proxy",
      trustedProxies: ["127.0.0.0/8"],
      origin: "https://gw.example:8443",
    },
    { who: "anybody else", trustedProxies: ["10.0.0.0/8"], origin: undefined },
  ]
) {
  Deno.test(`scheme and host that ${who} forwards are ${origin ? "" : "not "}the base of all addresses`, async () => {
    await using story = await setUp({
      mcp: { provider: "IdpB", clientId: "client-1" },
      path: "/v1/apps/agentic/P1/S1",
      config: { trustedProxies },
    });
    const expected = origin ?? story.origin;
    const forwarded = {
      "x-forwarded-proto": "https",
      "x-forwarded-host": "gw.example:8443",
    };

    const { challenge } = await callMcp(story.gateway, undefined, forwarded);
    const resource = await readJson(story.resource, forwarded);
    const server = await readJson(story.server, forwarded);

    assert.equal(
      challenge,
      `Bearer resource_metadata="${expected}/.well-known/oauth-protected-resource/mcp"`,
    );
    assert.equal(resource.resource, `${expected}/mcp`);
    assert.deepEqual(resource.authorization_servers, [`${expected}/mcp`]);
    assert.equal(server.issuer, `${expected}/mcp`);
    assert.equal(
      server.registration_endpoint,
      `${expected}/.well-known/oauth-authorization-server/mcp/client-registration`,
    );
  });
}

for (
  const forwarded of [
    { "x-forwarded-proto": "javascript", "x-forwarded-host": "gw.example" },
    { "x-forwarded-host": 'gw.example", error="x' },
    { "x-forwarded-host": "gw.example/evil" },
    { "x-forwarded-host": "user@gw.example" },
  ]
) {
  Deno.test(`invalid values of a trusted proxy are ignored: ${JSON.stringify(forwarded)}`, async () => {
    await using story = await setUp({
      mcp: { provider: "IdpA" },
      config: { trustedProxies: ["127.0.0.1/32"] },
    });

    const { challenge } = await callMcp(story.gateway, undefined, forwarded);

    assert.match(
      challenge ?? "",
      /^Bearer resource_metadata="http:\/\/(127\.0\.0\.1:\d+|gw\.example)\/\.well-known\/oauth-protected-resource\/mcp"$/,
    );
  });
}

Deno.test("a configured resource is the base of all addresses, whatever proxies forward", async () => {
  const resource = "https://mcp.example.com/mcp";
  await using story = await setUp({
    mcp: { provider: "IdpA", resourceMetadata: { resource } },
    config: { trustedProxies: ["127.0.0.1/32"] },
  });
  const forwarded = { "x-forwarded-host": "gw.example" };

  const { challenge } = await callMcp(story.gateway, undefined, forwarded);
  const document = await readJson(story.resource, forwarded);
  const { issuer } = await readJson(story.server, forwarded);

  assert.equal(
    challenge,
    'Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"',
  );
  assert.equal(document.resource, resource);
  assert.deepEqual(document.authorization_servers, [resource]);
  assert.equal(issuer, resource);
});

Deno.test("unknown paths get a 404 that a page may read", async () => {
  await using story = await setUp({ mcp: { provider: "IdpA" } });

  for (
    const name of [
      "openid-configuration",
      "oauth-authorization-server",
      "oauth-protected-resource",
    ]
  ) {
    const response = await fetch(`${story.origin}/mcp/.well-known/${name}`);

    assert.equal(response.status, 404, name);
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
    await response.body?.cancel();
  }
});

Deno.test("HEAD and preflight get responses, other methods are rejected", async () => {
  await using story = await setUp({ mcp: { provider: "IdpA" } });

  const statuses = [];
  for (const url of [story.resource, story.server]) {
    for (const method of ["HEAD", "OPTIONS", "PUT"]) {
      const response = await fetch(url, { method });
      statuses.push(response.status);
      await response.body?.cancel();
    }
  }

  assert.deepEqual(statuses, [200, 204, 405, 200, 204, 405]);
});
