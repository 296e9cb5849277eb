import assert from "node:assert/strict";
import { startProxiedGateway } from "../../harness/gateway/proxied_gateway.ts";

/** Starts a gateway with rules for clients. */
async function startWith(clients: Readonly<Record<string, unknown>>) {
  const server = await startProxiedGateway({ mcp: { clients } });
  const { pathname, origin } = new URL(server.gateway.url);
  const base = `${origin}/.well-known/oauth-authorization-server${pathname}`;
  return Object.assign(server, {
    metadata: () => fetch(base).then((response) => response.json()),
    registerWith: async (token: string | undefined) => {
      const response = await fetch(`${base}/register`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(token && { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({
          redirect_uris: ["https://app.example.com/callback"],
        }),
      });
      return { status: response.status, body: await response.json() };
    },
    visit: async (clientId: string, redirectUri: string) => {
      const url = server.authorizeUrl(clientId, { redirect_uri: redirectUri });
      const response = await fetch(url, { redirect: "manual" });
      return { status: response.status, page: await response.text() };
    },
  });
}

const uris: Readonly<Record<string, boolean>> = {
  "https://app.example.com/callback": true,
  "https://other.example.net/callback": true,
  "https://example.net/callback": false,
  "https://evilexample.net/callback": false,
  "https://app.example.com.evil.test/callback": false,
  "https://app.example.com@evil.test/callback": false,
  "http://127.0.0.1:5000/callback": true,
  "http://localhost/callback": true,
  "cursor://callback": true,
  "other-program://callback": false,
};

Deno.test("clients may send users back only where the administrator allows it", async () => {
  await using server = await startWith({
    redirects: ["app.example.com", "*.example.net", "loopback", "cursor:"],
  });
  for (const [uri, isAllowed] of Object.entries(uris)) {
    const { status, body } = await server.register({ redirect_uris: [uri] });

    assert.deepEqual([uri, status], [uri, isAllowed ? 201 : 400]);
    if (!isAllowed) assert.equal(body.error, "invalid_redirect_uri");
  }
});

Deno.test("a client that registered before is subject to the rules of today", async () => {
  const stateSecret = "a secret of the test with 32 characters";
  await using before = await startProxiedGateway({ mcp: { stateSecret } });
  const { body } = await before.register({
    redirect_uris: ["https://app.example.com/callback"],
  });
  await using after = await startProxiedGateway({
    mcp: { stateSecret, clients: { redirects: ["loopback"] } },
  });
  const url = after.authorizeUrl(String(body.client_id), {
    redirect_uri: "https://app.example.com/callback",
  });

  const response = await fetch(url, { redirect: "manual" });

  assert.equal(response.status, 400);
  assert.match(await response.text(), /not one that this server allows/);
});

Deno.test("client metadata documents come from the hosts that are allowed", async () => {
  await using some = await startWith({ documentHosts: ["apps.example.com"] });
  await using none = await startWith({ documentHosts: [] });

  const foreign = await some.visit(
    "https://evil.example/client.json",
    "https://evil.example/callback",
  );

  assert.equal(foreign.status, 401);
  assert.match(foreign.page, /documents of this host are not allowed/);
  const supported = "client_id_metadata_document_supported";
  assert.equal((await some.metadata())[supported], true);
  assert.equal((await none.metadata())[supported], false);
});

Deno.test("registration needs an initial access token, or is closed", async () => {
  await using guarded = await startWith({
    registration: "Token",
    registrationTokens: ["first token", "second-token"],
  });
  await using closed = await startWith({ registration: "Closed" });

  const statuses = [
    await guarded.registerWith(undefined),
    await guarded.registerWith("wrong"),
    await guarded.registerWith("second-token"),
    await closed.registerWith("second-token"),
  ].map(({ status }) => status);

  assert.deepEqual(statuses, [401, 401, 201, 403]);
  assert.ok("registration_endpoint" in await guarded.metadata());
  assert.ok(!("registration_endpoint" in await closed.metadata()));
});
