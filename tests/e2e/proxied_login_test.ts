import assert from "node:assert/strict";
import { CookieJar, logIn } from "../harness/browser_user.ts";
import { freePort } from "../harness/free_port.ts";
import { initializeMcp } from "../harness/initialize_mcp.ts";
import {
  REDIRECT_URI,
  startProxiedGateway,
} from "../harness/proxied_gateway.ts";

Deno.test("a login ends with the provider's token, which opens the MCP server", async () => {
  await using server = await startProxiedGateway();
  const client = await server.registerClient();

  const callback = await logIn(server.authorizeUrl(client));
  const { status, headers, body } = await server.redeem(
    client,
    callback.searchParams.get("code") ?? "",
  );

  assert.equal(callback.searchParams.get("state"), "client-state");
  assert.equal(callback.searchParams.get("iss"), server.gateway.url);
  assert.equal(status, 200);
  assert.equal(headers.get("cache-control"), "no-store");
  assert.equal(body.token_type, "Bearer");
  const opened = await initializeMcp(server.gateway, body.access_token);
  assert.equal(opened.status, 200);
});

Deno.test("the metadata name the gateway, without a query in any endpoint", async () => {
  await using server = await startProxiedGateway();

  const metadata = await (await fetch(server.base)).json();

  assert.equal(metadata.issuer, server.gateway.url);
  assert.equal(metadata.authorization_endpoint, `${server.base}/authorize`);
  assert.equal(metadata.token_endpoint, `${server.base}/token`);
  assert.equal(metadata.authorization_response_iss_parameter_supported, true);
  assert.deepEqual(metadata.code_challenge_methods_supported, ["S256"]);
  assert.match(metadata.jwks_uri, /jwks\.json$/);
});

Deno.test("a refresh token gets new tokens for its client only", async () => {
  await using server = await startProxiedGateway();
  const [client, other] = [
    await server.registerClient("one"),
    await server.registerClient("two"),
  ];
  const { body } = await server.redeem(client, await server.code(client));

  const foreign = await server.refresh(other, body.refresh_token);
  const own = await server.refresh(client, body.refresh_token);

  assert.deepEqual([foreign.status, foreign.body.error], [
    400,
    "invalid_grant",
  ]);
  assert.equal(own.status, 200);
  const opened = await initializeMcp(server.gateway, own.body.access_token);
  assert.equal(opened.status, 200);
});

Deno.test("revoking a refresh token ends its grant", async () => {
  await using server = await startProxiedGateway();
  const client = await server.registerClient();
  const { body } = await server.redeem(client, await server.code(client));
  assert.equal(typeof body.refresh_token, "string");

  const revoked = await server.revoke(client, body.refresh_token);
  const refreshed = await server.refresh(client, body.refresh_token);

  assert.equal(revoked.status, 200);
  assert.equal(refreshed.body.error, "invalid_grant");
});

Deno.test("a code that is used twice ends the grant", async () => {
  await using server = await startProxiedGateway();
  const client = await server.registerClient();
  const code = await server.code(client);

  const first = await server.redeem(client, code);
  const second = await server.redeem(client, code);
  const refreshed = await server.refresh(client, first.body.refresh_token);

  assert.equal(first.status, 200);
  assert.equal(typeof first.body.refresh_token, "string");
  assert.deepEqual([second.status, second.body.error], [400, "invalid_grant"]);
  assert.deepEqual(refreshed.body.error, "invalid_grant");
});

const wrongRedemptions: Readonly<
  Record<string, Readonly<Record<string, string | undefined>>>
> = {
  "another verifier": { code_verifier: "x".repeat(43) },
  "no verifier": { code_verifier: undefined },
  "another redirect URI": { redirect_uri: "http://127.0.0.1:1/other" },
  "another resource": { resource: "https://other.example.com/mcp" },
  "another grant type": { grant_type: "password" },
  "a code in two letters": { code: "ab" },
};

for (const [what, parameters] of Object.entries(wrongRedemptions)) {
  Deno.test(`a code is not redeemed with ${what}`, async () => {
    await using server = await startProxiedGateway();
    const client = await server.registerClient();
    const code = await server.code(client);

    const { status, body } = await server.redeem(client, code, parameters);

    assert.equal(status, 400);
    assert.equal(body.access_token, undefined);
    assert(!server.idpRequests.includes("POST /oauth/token"));
  });
}

Deno.test("a code is redeemed by the client that it was issued to, and no other", async () => {
  await using server = await startProxiedGateway();
  const [victim, attacker] = [
    await server.registerClient("victim"),
    await server.registerClient("attacker"),
  ];

  const { body } = await server.redeem(attacker, await server.code(victim));

  assert.equal(body.error, "invalid_grant");
});

Deno.test("the user is asked before the first redirect to the provider, for each client", async () => {
  await using server = await startProxiedGateway();
  const jar = new CookieJar();
  const [known, unknown] = [
    await server.registerClient("Known <b>editor</b>"),
    await server.registerClient("Known <b>editor</b>"),
  ];
  const first = await open(server.authorizeUrl(known), jar);
  await logIn(server.authorizeUrl(known), {}, jar);
  const again = await open(server.authorizeUrl(known), jar);
  const other = await open(server.authorizeUrl(unknown), jar);

  assert.equal(first.status, 200);
  assert.match(
    first.page,
    /“Known &#60;b&#62;editor&#60;\/b&#62;” wants to use/,
  );
  assert.equal(first.headers.get("x-frame-options"), "DENY");
  assert.match(
    first.headers.get("content-security-policy") ?? "",
    /default-src 'none'.*frame-ancestors 'none'/,
  );
  assert.match(
    first.headers.get("set-cookie") ?? "",
    /^__Host-.*; Path=\/; Secure; HttpOnly; SameSite=Lax/,
  );
  assert.equal(again.status, 303);
  assert.equal(other.status, 200);
});

Deno.test("a user who denies consent returns to the client with access_denied", async () => {
  await using server = await startProxiedGateway();
  const client = await server.registerClient();

  const callback = await logIn(server.authorizeUrl(client), { answer: "deny" });

  assert.equal(callback.searchParams.get("error"), "access_denied");
  assert.equal(callback.searchParams.get("iss"), server.gateway.url);
  assert(!server.idpRequests.some((line) => line.startsWith("GET /authorize")));
});

Deno.test("consent counts only in the browser that got the page, and from the page of the gateway", async () => {
  await using server = await startProxiedGateway();
  const jar = new CookieJar();
  const client = await server.registerClient();
  const { page } = await open(server.authorizeUrl(client), jar);
  const [, login = ""] = /name="login" value="([^"]*)"/.exec(page) ?? [];
  const post = (headers: Record<string, string>) =>
    fetch(`${server.base}/consent`, {
      method: "POST",
      redirect: "manual",
      headers,
      body: new URLSearchParams({ login, answer: "allow" }),
    }).then(async (response) => {
      await response.body?.cancel();
      return response.status;
    });
  const cookie = jar.fieldFor(new URL(server.base));

  assert.equal(await post({}), 400);
  assert.equal(await post({ cookie, origin: "https://evil.example" }), 400);
  assert.equal(await post({ cookie, origin: "null" }), 400);
  assert.equal(await post({ cookie, origin: server.gateway.origin }), 303);
});

Deno.test("a callback counts only in the browser that began the login, after consent, and once", async () => {
  await using server = await startProxiedGateway();
  const jar = new CookieJar();
  const client = await server.registerClient();
  const { page } = await open(server.authorizeUrl(client), jar);
  const [, login = ""] = /name="login" value="([^"]*)"/.exec(page) ?? [];
  const callback = `${server.base}/callback?code=stolen&state=${login}`;

  const foreign = await open(callback, new CookieJar());
  const early = await open(callback, jar);

  assert.deepEqual([foreign.status, early.status], [400, 400]);
  assert.match(foreign.page, /not started in this browser/);
});

Deno.test("a provider's response with another issuer is rejected", async () => {
  await using server = await startProxiedGateway({
    idp: { sendsIssuer: true },
  });
  const jar = new CookieJar();
  const client = await server.registerClient();
  await logIn(server.authorizeUrl(client), {}, jar);
  const started = await open(server.authorizeUrl(client), jar);
  const state = new URL(started.headers.get("location") ?? "").searchParams
    .get("state");

  const mixedUp = await open(
    `${server.base}/callback?code=c&state=${state}&iss=https://evil.example`,
    jar,
  );

  const location = new URL(mixedUp.headers.get("location") ?? "");
  assert.equal(location.searchParams.get("error"), "access_denied");
  assert.equal(location.searchParams.get("code"), null);
});

const redirectUris: Readonly<Record<string, boolean>> = {
  "http://127.0.0.1:5/callback": true,
  "http://[::1]:7/cb": true,
  "http://localhost/cb": true,
  "https://app.example.com/cb?x=1": true,
  "cursor://anysphere.cursor-retrieval/oauth": true,
  "http://app.example.com/cb": false,
  "https://app.example.com/cb#x": false,
  "https://user:secret@app.example.com/": false,
  "javascript:alert(1)": false,
  "data:text/html,x": false,
  "/relative": false,
  "https://app.example.com/\\evil": false,
  "http://127.0.0.1.evil.example/cb": false,
};

Deno.test("clients register redirect URIs that cannot leak a code, and no others", async () => {
  await using server = await startProxiedGateway();
  for (const [uri, good] of Object.entries(redirectUris)) {
    const { status, body } = await server.register({ redirect_uris: [uri] });

    assert.deepEqual(
      [uri, status, body.error],
      [uri, good ? 201 : 400, good ? undefined : "invalid_redirect_uri"],
    );
  }
});

const requestedUris: Readonly<Record<string, boolean>> = {
  [REDIRECT_URI]: true,
  "http://127.0.0.1:9/callback": true,
  "http://127.0.0.1/callback": true,
  "http://localhost:41999/callback": false,
  "http://127.0.0.1:41999/callback/": false,
  "http://127.0.0.1:41999/callback?x=1": false,
  "http://127.0.0.1:41999@evil.example/callback": false,
  "http://127.0.0.1:99999999/callback": false,
  "https://evil.example/callback": false,
};

Deno.test("a request for an unregistered redirect URI is not redirected", async () => {
  await using server = await startProxiedGateway();
  const client = await server.registerClient();
  for (const [uri, good] of Object.entries(requestedUris)) {
    const { status, headers } = await open(
      server.authorizeUrl(client, { redirect_uri: uri }),
    );

    assert.deepEqual([uri, status], [uri, good ? 200 : 400]);
    assert.equal(headers.get("location"), null);
  }
});

const badRequests: Readonly<
  Record<
    string,
    readonly [Readonly<Record<string, string | undefined>>, string]
  >
> = {
  "without PKCE": [{ code_challenge: undefined }, "invalid_request"],
  "with plain PKCE": [{ code_challenge_method: "plain" }, "invalid_request"],
  "for an implicit token": [
    { response_type: "token" },
    "unsupported_response_type",
  ],
  "for another resource": [
    { resource: "https://other.example.com/mcp" },
    "invalid_target",
  ],
  "with a malformed scope": [{ scope: 'a"b' }, "invalid_scope"],
};

for (const [what, [parameters, error]] of Object.entries(badRequests)) {
  Deno.test(`a request ${what} is redirected to the client with ${error}`, async () => {
    await using server = await startProxiedGateway();
    const client = await server.registerClient();

    const { headers } = await open(server.authorizeUrl(client, parameters));

    const location = new URL(headers.get("location") ?? "");
    assert.equal(location.href.split("?")[0], REDIRECT_URI);
    assert.equal(location.searchParams.get("error"), error);
    assert.equal(location.searchParams.get("iss"), server.gateway.url);
  });
}

Deno.test("an unknown client and a client document on a private address are not redirected", async () => {
  await using server = await startProxiedGateway();
  for (
    const id of [
      "nobody",
      "gw-forged",
      "https://127.0.0.1:8443/client.json",
      "https://169.254.169.254/latest/meta-data",
      "https://localhost/client.json",
      "https://[::ffff:10.0.0.1]/client.json",
    ]
  ) {
    const { status, page } = await open(server.authorizeUrl(id));

    assert.deepEqual([id, status], [id, 401]);
    assert.match(page, /cannot continue/);
  }
});

Deno.test("logins survive a restart of the gateway, and continue at another replica, with the same stateSecret", async () => {
  const port = freePort();
  const mcp = { stateSecret: "the same secret of every replica, long" };
  const jar = new CookieJar();
  let client: string;
  let code: string;
  let idpPort: number;
  {
    await using first = await startProxiedGateway({ mcp, port });
    client = await first.registerClient();
    code = await first.code(client, {}, jar);
    idpPort = Number(new URL(first.idp.origin).port);
    await first.idp.stop();
  }
  await using second = await startProxiedGateway({
    mcp,
    idp: { port: idpPort },
    port,
  });

  const again = await open(second.authorizeUrl(client), jar);
  const { body } = await second.redeem(client, code);

  assert.equal(again.status, 303, "client and consent are known");
  // The restarted provider does not know its code any more; the gateway opened ours.
  assert.match(String(body.error_description), /identity provider rejected/);
});

Deno.test("an unavailable provider leads to 503 with Retry-After, and the login can continue later", async () => {
  await using server = await startProxiedGateway();
  const client = await server.registerClient();
  const code = await server.code(client);
  await server.idp.stop();

  const away = await server.redeem(client, code);

  assert.equal(away.status, 503);
  assert.equal(away.headers.get("retry-after"), "5");
  assert.equal(away.body.error, "temporarily_unavailable");

  await server.idp.start();
  assert.equal((await server.redeem(client, code)).status, 200);
  const again = await server.redeem(client, code);
  assert.equal(again.body.error, "invalid_grant");
});

Deno.test("a store that is away is a 503 with Retry-After, and the same code works later", async () => {
  const folder = await Deno.makeTempDir();
  const store = `${folder}/missing`;
  await using server = await startProxiedGateway({
    mcp: { stateSecret: "a secret of at least 32 characters" },
    config: { kv: { path: `${store}/kv.sqlite` } },
  });
  const client = await server.registerClient();
  const code = await server.code(client);

  const away = await server.redeem(client, code);
  await Deno.mkdir(store);
  const back = await server.redeem(client, code);
  const revoked = await server.revoke(client, back.body.refresh_token);

  assert.deepEqual(
    [away.status, away.headers.get("retry-after"), away.body],
    [503, "2", {
      error: "temporarily_unavailable",
      error_description: "the store of the gateway is not available",
    }],
  );
  assert.deepEqual([back.status, revoked.status], [200, 200]);
  await Deno.remove(folder, { recursive: true });
});

async function open(url: string, jar = new CookieJar()) {
  const response = await fetch(url, {
    redirect: "manual",
    headers: { cookie: jar.fieldFor(new URL(url)) },
  });
  jar.store(new URL(url), response.headers);
  const { status, headers } = response;
  return { status, headers, page: await response.text() };
}
