import assert from "node:assert/strict";
import { startTestGateway } from "../harness/gateway.ts";
import { createTokenIssuer, jwksOf } from "../harness/tokens.ts";

const audience = "https://gw.example/mcp";

/** An MCP server and an identity provider on one port; `keys` and `up` may change. */
function startServers() {
  const state = {
    jwks: "{}",
    up: true,
    asked: [] as string[],
    forwarded: [] as (string | null)[],
  };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/mcp") {
        state.forwarded.push(request.headers.get("authorization"));
        return Response.json({ ok: true });
      }
      state.asked.push(`${request.method} ${pathname}`);
      if (!state.up) return new Response("down", { status: 500 });
      if (pathname.endsWith("/jwks.json")) return new Response(state.jwks);
      if (pathname.endsWith("/register")) {
        await request.body?.cancel();
        return Response.json({ error: "unauthorized" }, { status: 401 });
      }
      const { origin } = new URL(request.url);
      return Response.json({
        issuer: `${origin}/`,
        authorization_endpoint: `${origin}/authorize?a=b`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/oidc/register`,
        jwks_uri: `${origin}/jwks.json`,
        authorization_response_iss_parameter_supported: true,
      });
    },
  );
  const host = `127.0.0.1:${server.addr.port}`;
  return {
    state,
    host,
    origin: `http://${host}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

type Servers = ReturnType<typeof startServers>;

function protect(
  { host, origin }: Servers,
  mcp: object | undefined,
  issuer = `${origin}/`,
  more: object = {},
  config: object = {},
) {
  return startTestGateway({
    config,
    routes: [{
      name: "mcp",
      matches: [
        "/mcp",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server/mcp",
      ].map((value) => ({ path: { type: "PathPrefix", value } })),
      backends: [{ host }],
      policies: {
        jwtAuthentication: {
          providers: [{
            issuer,
            audiences: [audience],
            jwks: {
              remote: {
                backendRef: { name: "idp" },
                jwksPath: "/jwks.json",
              },
            },
          }],
          ...(mcp === undefined ? {} : { mcp }),
          ...more,
        },
      },
    }],
    backends: [{
      name: "idp",
      static: { host: "127.0.0.1", port: Number(host.split(":")[1]) },
    }],
  });
}

async function call(url: string, token?: string) {
  const headers = token === undefined
    ? {}
    : { authorization: `Bearer ${token}` };
  const response = await fetch(url, { method: "POST", headers, body: "{}" });
  return {
    status: response.status,
    challenge: response.headers.get("www-authenticate"),
    retryAfter: response.headers.get("retry-after"),
    body: await response.json(),
  };
}

Deno.test("a protected MCP server demands a token and says where to get one", async () => {
  await using servers = startServers();
  servers.state.jwks = jwksOf(await createTokenIssuer());
  await using gateway = await protect(servers, { provider: "IdpA" });
  const url = `${gateway.origin}/mcp`;

  const metadata = `${gateway.origin}/.well-known/oauth-protected-resource/mcp`;
  assert.deepEqual(await call(url), {
    status: 401,
    challenge: `Bearer resource_metadata="${metadata}"`,
    retryAfter: null,
    body: {
      error: "unauthorized",
      error_description: "a bearer token is required",
    },
  });
  assert.equal(
    (await call(url, "opaque")).challenge,
    `Bearer resource_metadata="${metadata}", error="invalid_token", error_description="token is opaque, not a JWT; the client has to ask the provider for the audience of this server"`,
  );
  const resource = await fetch(metadata);
  assert.equal(resource.headers.get("access-control-allow-origin"), "*");
  assert.deepEqual(await resource.json(), {
    resource: url,
    authorization_servers: [url],
    mcp_protocol_version: "2025-06-18",
    resource_type: "mcp-server",
    bearer_methods_supported: ["header"],
  });
});

Deno.test("a valid token passes and is not forwarded to the MCP server", async () => {
  await using servers = startServers();
  const issuer = await createTokenIssuer({ issuer: `${servers.origin}/` });
  servers.state.jwks = jwksOf(issuer);
  await using gateway = await protect(servers, { provider: "IdpA" });

  const token = await issuer.sign();
  assert.equal((await call(`${gateway.origin}/mcp`, token)).status, 200);
  assert.equal((await call(`${gateway.origin}/mcp`, token)).status, 200);
  assert.deepEqual(servers.state.forwarded, [null, null]);
  assert.deepEqual(servers.state.asked, ["GET /jwks.json"]);
});

Deno.test("plain JWT authentication forwards the token", async () => {
  await using servers = startServers();
  const issuer = await createTokenIssuer({ issuer: `${servers.origin}/` });
  servers.state.jwks = jwksOf(issuer);
  await using gateway = await protect(servers, undefined);

  const token = await issuer.sign();
  assert.equal((await call(`${gateway.origin}/mcp`, token)).status, 200);
  assert.deepEqual(servers.state.forwarded, [`Bearer ${token}`]);
  assert.equal((await call(`${gateway.origin}/mcp`)).challenge, "Bearer");
});

Deno.test("a key that has just appeared is accepted", async () => {
  await using servers = startServers();
  const old = await createTokenIssuer({ issuer: `${servers.origin}/` });
  const fresh = await createTokenIssuer({ issuer: old.issuer, kid: "k2" });
  servers.state.jwks = jwksOf(old);
  await using gateway = await protect(servers, undefined);
  assert.equal(
    (await call(`${gateway.origin}/mcp`, await old.sign())).status,
    200,
  );

  servers.state.jwks = jwksOf(old, fresh);
  const asked = servers.state.asked.length;
  const answer = await call(`${gateway.origin}/mcp`, await fresh.sign());
  assert.equal(answer.status, 200);
  assert.equal(servers.state.asked.length, asked + 1);
});

Deno.test("with a key store a restart while the provider is down locks nobody out", async () => {
  const directory = await Deno.makeTempDir();
  const config = { kv: { path: `${directory}/keys.sqlite` } };
  await using servers = startServers();
  const issuer = await createTokenIssuer({ issuer: `${servers.origin}/` });
  servers.state.jwks = jwksOf(issuer);
  const token = await issuer.sign();
  {
    await using before = await protect(servers, {}, undefined, {}, config);
    assert.equal((await call(`${before.origin}/mcp`, token)).status, 200);
  }
  servers.state.up = false;

  await using after = await protect(servers, {}, undefined, {}, config);

  assert.equal((await call(`${after.origin}/mcp`, token)).status, 200);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("without keys the server is closed, with the time to wait", async () => {
  await using servers = startServers();
  const issuer = await createTokenIssuer({ issuer: `${servers.origin}/` });
  servers.state.up = false;
  await using gateway = await protect(servers, { provider: "IdpA" });

  const answer = await call(`${gateway.origin}/mcp`, await issuer.sign());
  assert.equal(answer.status, 503);
  assert.equal(answer.retryAfter, "1");
  assert.equal((await call(`${gateway.origin}/mcp`)).status, 401);
  assert.deepEqual(servers.state.forwarded, []);
});

Deno.test("metadata of IdpA names the gateway as issuer, the audience and the provider's registration", async () => {
  await using servers = startServers();
  await using gateway = await protect(servers, { provider: "Auth0" });

  for (const kind of ["oauth-authorization-server", "openid-configuration"]) {
    const url = `${gateway.origin}/.well-known/${kind}/mcp`;
    const response = await fetch(url);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), {
      issuer: `${gateway.origin}/mcp`,
      authorization_endpoint:
        `${servers.origin}/authorize?a=b&audience=${audience}`,
      token_endpoint: `${servers.origin}/token`,
      registration_endpoint: `${servers.origin}/oidc/register`,
      jwks_uri: `${servers.origin}/jwks.json`,
      code_challenge_methods_supported: ["S256"],
    });
  }
});

Deno.test("metadata of IdpB points registration at the gateway, which passes the provider's refusal on", async () => {
  await using servers = startServers();
  const issuer = `${servers.origin}/v1/apps/agentic/P1/S1`;
  await using gateway = await protect(servers, { provider: "IdpB" }, issuer);

  const base = `${gateway.origin}/.well-known/oauth-authorization-server/mcp`;
  const metadata = await (await fetch(base)).json();
  assert.equal(metadata.registration_endpoint, `${base}/client-registration`);
  assert.equal(
    metadata.jwks_uri,
    `${servers.origin}/P1/.well-known/jwks.json`,
  );
  const answer = await call(metadata.registration_endpoint);
  assert.equal(answer.status, 401);
  assert(
    servers.state.asked.includes("POST /v1/mgmt/mcp/client/P1/S1/register"),
  );
});

Deno.test("registration answers with the configured client", async () => {
  await using servers = startServers();
  await using gateway = await protect(servers, {
    provider: "IdpB",
    clientId: "client-1",
  });

  const url =
    `${gateway.origin}/.well-known/oauth-authorization-server/mcp/register`;
  const client = { client_name: "x", redirect_uris: ["http://localhost/cb"] };
  const response = await fetch(url, {
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
  const bad = await fetch(url, { method: "POST", body: "{" });
  assert.equal(bad.status, 400);
  assert.equal((await bad.json()).error, "invalid_client_metadata");
});

Deno.test("upstream issuer mode names the provider in both documents", async () => {
  await using servers = startServers();
  await using gateway = await protect(servers, {
    provider: "IdpA",
    issuerMode: "Upstream",
  });

  const wellKnown = `${gateway.origin}/.well-known`;
  const resource = await (await fetch(`${wellKnown}/oauth-protected-resource`))
    .json();
  const server =
    await (await fetch(`${wellKnown}/oauth-authorization-server/mcp`)).json();
  assert.equal(resource.resource, `${gateway.origin}/mcp`);
  assert.deepEqual(resource.authorization_servers, [`${servers.origin}/`]);
  assert.equal(server.issuer, `${servers.origin}/`);
  assert.equal(server.authorization_response_iss_parameter_supported, true);
});

Deno.test("what is not served is a 404 that a page may read", async () => {
  await using servers = startServers();
  await using gateway = await protect(servers, { provider: "IdpA" });

  const response = await fetch(
    `${gateway.origin}/mcp/.well-known/openid-configuration`,
  );
  assert.equal(response.status, 404);
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  await response.body?.cancel();
});

Deno.test("HEAD and preflight are answered, other methods are refused", async () => {
  await using servers = startServers();
  await using gateway = await protect(servers, { provider: "IdpA" });
  const url = `${gateway.origin}/.well-known/oauth-protected-resource/mcp`;

  const statuses = [];
  for (const method of ["HEAD", "OPTIONS", "PUT"]) {
    const response = await fetch(url, { method });
    statuses.push(response.status);
    await response.body?.cancel();
  }
  assert.deepEqual(statuses, [200, 204, 405]);
});

Deno.test("optional mode lets requests without token pass, permissive those with a bad one too", async () => {
  await using servers = startServers();
  servers.state.jwks = jwksOf(await createTokenIssuer());
  const statuses = [];
  for (const mode of ["Optional", "Permissive"]) {
    await using gateway = await protect(servers, undefined, undefined, {
      mode,
    });
    const url = `${gateway.origin}/mcp`;
    statuses.push((await call(url)).status, (await call(url, "bad")).status);
  }
  assert.deepEqual(statuses, [200, 401, 200, 200]);
});

Deno.test("two credentials in one request are refused", async () => {
  await using servers = startServers();
  await using gateway = await protect(servers, { provider: "IdpA" });
  const connection = await Deno.connect({
    hostname: "127.0.0.1",
    port: gateway.port,
  });
  const text =
    "GET /mcp HTTP/1.1\r\nHost: gw\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\nConnection: close\r\n\r\n";
  await connection.write(new TextEncoder().encode(text));
  const answer = await new Response(connection.readable).text();
  assert.match(answer, /^HTTP\/1\.1 400 /);
});

Deno.test("a policy whose key backend does not exist is an error", async () => {
  await using servers = startServers();
  const { origin } = servers;
  const config = {
    routes: [{
      name: "mcp",
      backends: [{ host: servers.host }],
      policies: {
        jwtAuthentication: {
          providers: [{
            issuer: origin,
            jwks: {
              remote: { backendRef: { name: "nope" }, jwksPath: "/k" },
            },
          }],
        },
      },
    }],
  };
  await assert.rejects(
    startTestGateway(config),
    /Cannot find backend "default\/nope"/,
  );
});
