import assert from "node:assert/strict";
import { CookieJar, logIn } from "../../harness/browser/browser_user.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";
import { initializeMcp } from "../../harness/clients/initialize_mcp.ts";
import {
  REDIRECT_URI,
  startProxiedGateway,
} from "../../harness/gateway/proxied_gateway.ts";

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

Deno.test("clients of a provider with opaque access tokens get its ID tokens, also when they refresh", async () => {
  await using server = await startProxiedGateway({
    isClientAudience: true,
    mcp: { provider: "Google", scopes: ["offline_access"] },
  });
  const client = await server.registerClient();
  const { body } = await server.redeem(client, await server.code(client));

  const refreshed = await server.refresh(client, body.refresh_token);

  for (const { access_token: token } of [body, refreshed.body]) {
    const opened = await initializeMcp(server.gateway, token);
    assert.equal(opened.status, 200);
  }
});

Deno.test("users log in at the provider that the configuration names, and machines come with tokens of the other", async () => {
  const machines = await createTokenIssuer({
    issuer: "https://machines.example/",
  });
  await using server = await startProxiedGateway({
    otherProviders: [{
      issuer: machines.issuer,
      audiences: ["machines"],
      jwks: { inline: jwksOf(machines) },
    }],
  });
  const client = await server.registerClient();
  const { body } = await server.redeem(client, await server.code(client));

  for (
    const [token, status] of [
      [body.access_token, 200],
      [await machines.sign({ aud: "machines" }), 200],
      [await machines.sign({ aud: "machines", iss: server.idp.issuer }), 401],
      [await machines.sign({ aud: server.gateway.url }), 401],
    ]
  ) {
    const opened = await initializeMcp(server.gateway, token);
    assert.equal(opened.status, status);
  }
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

Deno.test("requests at the same time with one refresh token share one renewal at the provider", async () => {
  await using server = await startProxiedGateway();
  const client = await server.registerClient();
  const { body } = await server.redeem(client, await server.code(client));
  const before = server.idpRequests.length;

  const all = await Promise.all(
    [1, 2, 3].map(() => server.refresh(client, body.refresh_token)),
  );

  assert.deepEqual(all.map(({ status }) => status), [200, 200, 200]);
  assert.equal(server.idpRequests.length, before + 1);
  for (const { body } of all) {
    const opened = await initializeMcp(server.gateway, body.access_token);
    assert.equal(opened.status, 200);
  }
});

Deno.test("a refresh token that is used again after its successor ends the grant", async () => {
  await using server = await startProxiedGateway();
  const client = await server.registerClient();
  const first = await server.redeem(client, await server.code(client));
  const second = await server.refresh(client, first.body.refresh_token);
  const third = await server.refresh(client, second.body.refresh_token);
  const before = server.idpRequests.length;

  const stolen = await server.refresh(client, first.body.refresh_token);
  const owner = await server.refresh(client, third.body.refresh_token);

  assert.deepEqual([second.status, third.status], [200, 200]);
  assert.match(String(stolen.body.error_description), /used before/);
  assert.match(String(owner.body.error_description), /has ended/);
  assert.equal(server.idpRequests.length, before);
});

Deno.test("a refresh token still works after a failure of the provider", async () => {
  await using server = await startProxiedGateway();
  const client = await server.registerClient();
  const first = await server.redeem(client, await server.code(client));
  await server.idp.stop();
  const failed = await server.refresh(client, first.body.refresh_token);
  await server.idp.start();

  const works = await server.refresh(client, first.body.refresh_token);

  assert.deepEqual([failed.status, works.status], [503, 200]);
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

Deno.test("consent is asked for again when a client wants more scopes", async () => {
  await using server = await startProxiedGateway();
  const jar = new CookieJar();
  const client = await server.registerClient();
  const urlOf = (scope: string) => server.authorizeUrl(client, { scope });
  await logIn(urlOf("openid email"), {}, jar);

  const same = await open(urlOf("openid email"), jar);
  const fewer = await open(urlOf("email"), jar);
  const more = await open(urlOf("offline_access email profile"), jar);
  await logIn(urlOf("offline_access email profile"), {}, jar);
  const all = await open(urlOf("openid email profile"), jar);

  assert.deepEqual([same.status, fewer.status, all.status], [303, 303, 303]);
  assert.equal(more.status, 200);
  assert.match(more.page, /offline_access, email, profile/);
});

Deno.test("no request opens a program of the user's computer without a click", async () => {
  await using server = await startProxiedGateway();
  const uri = "com.example.editor:/callback";
  const { body } = await server.register({ redirect_uris: [uri] });
  const url = server.authorizeUrl(String(body.client_id), {
    redirect_uri: uri,
    response_type: "token",
  });

  const { status, page } = await open(url, new CookieJar());

  assert.equal(status, 400);
  assert.match(page, /only &#34;code&#34; is supported/);
});

Deno.test("an error leads to an unknown address only by a click, and to a known one at once", async () => {
  await using server = await startProxiedGateway();
  const uri = "https://unknown.example/callback";
  const { body } = await server.register({ redirect_uris: [uri] });
  const urlOf = (parameters: Readonly<Record<string, string>>) =>
    server.authorizeUrl(String(body.client_id), {
      redirect_uri: uri,
      ...parameters,
    });
  const jar = new CookieJar();

  const stranger = await open(urlOf({ scope: 'a"b' }), jar);
  await logIn(urlOf({}), {}, jar);
  const known = await open(urlOf({ scope: 'a"b' }), jar);

  assert.equal(stranger.status, 400);
  assert.equal(stranger.headers.get("location"), null);
  assert.match(stranger.page, /href="https:&#47;|href="https:\/\/unknown/);
  assert.equal(known.status, 303);
  assert.match(known.headers.get("location") ?? "", /^https:\/\/unknown/);
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

const redirectUris = [
  "http://127.0.0.1:5/callback",
  "http://[::1]:7/cb",
  "http://localhost/cb",
  "https://app.example.com/cb?x=1",
  "cursor://anysphere.cursor-retrieval/oauth",
];

Deno.test("clients register redirect URIs of every kind that cannot leak a code", async () => {
  await using server = await startProxiedGateway();
  for (const uri of redirectUris) {
    const { status } = await server.register({ redirect_uris: [uri] });

    assert.deepEqual([uri, status], [uri, 201]);
  }
});

Deno.test("a client on loopback may use any port", async () => {
  await using server = await startProxiedGateway();
  const client = await server.registerClient();
  for (
    const uri of [
      REDIRECT_URI,
      "http://127.0.0.1:9/callback",
      "http://127.0.0.1/callback",
    ]
  ) {
    const { status } = await open(
      server.authorizeUrl(client, { redirect_uri: uri }),
    );

    assert.deepEqual([uri, status], [uri, 200]);
  }
});

const badRequests: Readonly<
  Record<
    string,
    readonly [Readonly<Record<string, string | undefined>>, string]
  >
> = {
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

Deno.test("cookies of logins stay at the gateway, and the log warns if logins end with the process", async () => {
  const cookies: (string | null)[] = [];
  await using upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ headers }) => {
      cookies.push(headers.get("cookie"));
      return new Response("ok");
    },
  );
  const issuer = await createTokenIssuer();
  await using gateway = await startTestGateway({
    routes: [{
      name: "mcp",
      backends: [{ host: `127.0.0.1:${upstream.addr.port}` }],
      policies: {
        jwtAuthentication: {
          providers: [{
            issuer: issuer.issuer,
            audiences: ["https://gw.example/mcp"],
            jwks: { inline: jwksOf(issuer) },
          }],
          mcp: {
            provider: "IdpA",
            issuerMode: "Proxied",
            clientId: "gateway",
          },
        },
      },
    }],
  });

  const response = await fetch(`${gateway.origin}/mcp`, {
    headers: {
      authorization: `Bearer ${await issuer.sign()}`,
      cookie: "theme=dark; __Host-mcp-consent=sealed; __Host-mcp-login-a=b",
    },
  });

  assert.equal(await response.text(), "ok");
  assert.deepEqual(cookies, ["theme=dark"]);
  const warnings = gateway.log.filter((line) => line.includes("stateSecret"));
  assert.equal(warnings.length, 1);
});
