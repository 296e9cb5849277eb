import assert from "node:assert/strict";
import { CookieJar, logIn } from "../../harness/browser/browser_user.ts";
import { initializeMcp } from "../../harness/clients/initialize_mcp.ts";
import {
  type LoginCluster,
  type SharedState,
  startLoginCluster,
} from "../../harness/login/login_cluster.ts";

for (const shared of ["stateSecret", "config.kv"] as const) {
  Deno.test(`a login ends well although the gateway restarts before each step, with ${shared}`, async () => {
    await using cluster = await startLoginCluster({ gateways: 1, shared });
    const client = await cluster.registerClient();
    let restarts = 0;
    const restart = async () => {
      await cluster.restart();
      restarts++;
    };

    const callback = await logIn(
      cluster.authorizeUrl(client),
      {},
      new CookieJar(),
      async ({ href }) => {
        if (href.startsWith(cluster.base)) await restart();
      },
    );
    await restart();
    const { body } = await cluster.redeem(
      client,
      callback.searchParams.get("code"),
    );
    await restart();
    const refreshed = await cluster.refresh(client, body.refresh_token);
    await restart();
    const opened = await initializeMcp(cluster, refreshed.body.access_token);

    assert.equal(opened.status, 200);
    // authorize, consent, callback, token, token, MCP
    assert.equal(restarts, 6);
  });
}

Deno.test("a restart without a shared secret ends logins with an error that says what to do", async () => {
  await using cluster = await startLoginCluster({
    gateways: 1,
    shared: "nothing",
  });
  const client = await cluster.registerClient();
  const jar = new CookieJar();
  const first = await cluster.redeem(
    client,
    await cluster.code(client, {}, jar),
  );
  const code = await cluster.code(client, {}, jar);
  const consent = await fetch(cluster.authorizeUrl(client));
  const [, login = ""] = /name="login" value="([^"]*)"/.exec(
    await consent.text(),
  ) ?? [];
  await cluster.restart();

  const authorize = await fetch(cluster.authorizeUrl(client));
  const answered = await fetch(`${cluster.base}/consent`, {
    method: "POST",
    headers: { cookie: jar.fieldFor(new URL(cluster.base)) },
    body: new URLSearchParams({ login, answer: "allow" }),
  });
  const redeemed = await cluster.redeem(client, code);
  const refreshed = await cluster.refresh(client, first.body.refresh_token);
  const opened = await initializeMcp(cluster, first.body.access_token);

  assert.equal(authorize.status, 401);
  assert.match(await authorize.text(), /not registered here; register again/);
  assert.equal(answered.status, 400);
  assert.match(await answered.text(), /not started in this browser/);
  assert.deepEqual([redeemed.status, redeemed.body], [400, {
    error: "invalid_grant",
    error_description: "unknown code",
  }]);
  assert.deepEqual([refreshed.status, refreshed.body], [400, {
    error: "invalid_grant",
    error_description: "unknown refresh token",
  }]);
  assert.equal(opened.status, 401, "access tokens are the gateway's");
});

for (const shared of ["stateSecret", "config.kv"] as const) {
  Deno.test(`a login goes through two gateways in turns, with ${shared}`, async () => {
    await using cluster = await startLoginCluster({ gateways: 2, shared });
    const client = await cluster.registerClient();
    const code = await cluster.code(client);

    const first = await cluster.redeem(client, code);
    const replayed = await cluster.redeem(client, code);

    assert.equal(first.status, 200);
    assert.equal(
      await statusOf(cluster, first.body.access_token),
      shared === "config.kv" ? 401 : 200,
    );
    assert.deepEqual([replayed.status, replayed.body.error], [
      400,
      "invalid_grant",
    ]);
    assert.equal(
      replayed.body.error_description,
      shared === "config.kv"
        ? "the code was used before; its grant has ended"
        : "the identity provider rejected the grant",
    );
    for (let gateway = 0; gateway < 2; gateway++) {
      const { body } = await cluster.refresh(client, first.body.refresh_token);
      assert.equal(body.error, "invalid_grant", "the replay ended the grant");
    }
  });

  Deno.test(`a login goes on when one of two gateways is killed, with ${shared}`, async () => {
    await using cluster = await startLoginCluster({ gateways: 2, shared });
    const client = await cluster.registerClient();
    let visits = 0;
    const callback = await logIn(
      cluster.authorizeUrl(client),
      {},
      new CookieJar(),
      async ({ href }) => {
        const isConsent = href.startsWith(cluster.base) && visits++ === 1;
        if (isConsent) await cluster.stopFirst();
      },
    );

    const { body } = await cluster.redeem(
      client,
      callback.searchParams.get("code"),
    );

    assert.equal(await statusOf(cluster, body.access_token), 200);
  });
}

Deno.test("a grant that one gateway revoked is revoked at the other, with config.kv", async () => {
  await using cluster = await startLoginCluster({
    gateways: 2,
    shared: "config.kv",
  });
  const client = await cluster.registerClient();
  let { body } = await cluster.redeem(client, await cluster.code(client));
  for (let gateway = 0; gateway < 2; gateway++) {
    ({ body } = await cluster.refresh(client, body.refresh_token));
    assert.equal(typeof body.refresh_token, "string");
  }

  const { status } = await cluster.revoke(client, body.refresh_token);

  assert.equal(status, 200);
  for (let gateway = 0; gateway < 2; gateway++) {
    const refreshed = await cluster.refresh(client, body.refresh_token);
    assert.equal(refreshed.body.error, "invalid_grant");
  }
});

for (const keyId of ["same", "new"] as const) {
  Deno.test(`a login in progress ends well when the provider restarts with a key under the ${keyId} key ID`, async () => {
    await using cluster = await startLoginCluster({
      gateways: 1,
      shared: "nothing",
    });
    const client = await cluster.registerClient();
    const before = await cluster.redeem(client, await cluster.code(client));
    assert.equal(await statusOf(cluster, before.body.access_token), 200);
    const code = await cluster.code(client);

    await cluster.idp.stop();
    await cluster.idp.rotateKeys(keyId);
    const away = await cluster.redeem(client, code);
    await cluster.idp.start();
    const { body } = await cluster.redeem(client, code);

    assert.equal(away.body.error, "temporarily_unavailable");
    assert.equal(await statusOf(cluster, body.access_token), 200);
    // The session from before refreshes its token.
    assert.equal(await statusOf(cluster, before.body.access_token), 401);
    const refreshed = await cluster.refresh(client, before.body.refresh_token);
    assert.equal(await statusOf(cluster, refreshed.body.access_token), 200);
  });
}

Deno.test("a provider that restarts without its state ends logins in progress with a clear error, and the next one works", async () => {
  await using cluster = await startLoginCluster({
    gateways: 1,
    shared: "nothing",
  });
  const client = await cluster.registerClient();
  const jar = new CookieJar();
  const { body } = await cluster.redeem(
    client,
    await cluster.code(client, {}, jar),
  );
  const code = await cluster.code(client, {}, jar);
  await cluster.replaceProvider();

  const redeemed = await cluster.redeem(client, code);
  const refreshed = await cluster.refresh(client, body.refresh_token);
  const next = await cluster.redeem(
    client,
    await cluster.code(client, {}, jar),
  );

  for (const { status, body } of [redeemed, refreshed]) {
    assert.deepEqual([status, body], [400, {
      error: "invalid_grant",
      error_description: "the identity provider rejected the grant",
    }]);
  }
  assert.equal(await statusOf(cluster, next.body.access_token), 200);
  assert(
    cluster.accessLog.some((line) =>
      line.includes("the identity provider rejected the grant: status 400")
    ),
  );
});

Deno.test("a provider that is away sends the client an error that says so, and the login works later", async () => {
  await using cluster = await startLoginCluster({
    gateways: 1,
    shared: "nothing",
  });
  const client = await cluster.registerClient();
  await cluster.idp.stop();

  const away = await logIn(cluster.authorizeUrl(client));
  const metadata = await fetch(cluster.base);
  await metadata.body?.cancel();
  await cluster.idp.start();

  assert.equal(away.searchParams.get("error"), "temporarily_unavailable");
  assert.equal(away.searchParams.get("iss"), cluster.url);
  assert.equal(metadata.status, 503);
  assert.match(metadata.headers.get("retry-after") ?? "", /^\d+$/);
});

Deno.test("a gateway that restarts while the provider is away serves tokens and metadata that it knew, with config.kv", async () => {
  const shared: SharedState = "config.kv";
  await using cluster = await startLoginCluster({ gateways: 1, shared });
  const client = await cluster.registerClient();
  const { body } = await cluster.redeem(client, await cluster.code(client));
  const before = await (await fetch(cluster.base)).json();
  assert.equal(await statusOf(cluster, body.access_token), 200);
  await cluster.idp.stop();

  await cluster.restart();
  const after = await (await fetch(cluster.base)).json();
  const opened = await statusOf(cluster, body.access_token);
  const refreshed = await cluster.refresh(client, body.refresh_token);

  assert.equal(opened, 200);
  assert.deepEqual(after, before);
  assert.deepEqual(
    [refreshed.status, refreshed.headers.get("retry-after")],
    [503, "5"],
  );
  await cluster.idp.start();
  assert.equal(
    (await cluster.refresh(client, body.refresh_token)).status,
    200,
  );
});

async function statusOf(
  cluster: LoginCluster,
  token: unknown,
): Promise<number> {
  return (await initializeMcp(cluster, token)).status;
}
