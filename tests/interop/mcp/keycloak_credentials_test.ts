/** Credentials of users at a real Keycloak, through the gateway; `make interop-keycloak` installs it and runs this file. */
import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { createDpopClient } from "../../harness/login/dpop.ts";
import { Keycloak } from "../../harness/login/keycloak.ts";
import {
  GATEWAY_SECRET,
  KeycloakRealm,
} from "../../harness/login/keycloak_realm.ts";
import { freePort } from "../../harness/process/free_port.ts";

/** A service that returns the token that it gets. */
function startService() {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    ({ headers }) => new Response(headers.get("authorization")),
  );
  return {
    port: server.addr.port,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function configurationOf(
  { issuer, keys }: KeycloakRealm,
  { service, origin, store }: {
    readonly service: number;
    readonly origin: string;
    readonly store: string;
  },
) {
  const client = { clientId: "gateway", clientSecret: { key: GATEWAY_SECRET } };
  const signed = { issuer, audiences: ["gateway"], jwks: { url: keys } };
  const asked = {
    issuer,
    audiences: ["gateway"],
    introspection: {
      clientId: "gateway",
      clientSecret: GATEWAY_SECRET,
      cache: "0s",
    },
  };
  const at = (
    value: string,
    provider: unknown,
    backend: string,
  ) => ({
    matches: [{ path: { type: "PathPrefix", value } }],
    policies: { jwtAuthentication: { providers: [provider] } },
    backends: [{ backend }],
  });
  const target = { host: "127.0.0.1", port: service };
  return {
    config: {
      kv: { path: store },
      vault: { keys: ["a vault key of at least 32 characters"] },
      connections: {
        url: `${origin}/connections`,
        logins: [{
          issuer,
          clientId: "gateway",
          clientSecret: GATEWAY_SECRET,
        }],
      },
    },
    backends: [
      {
        name: "reports",
        static: target,
        credentials: {
          tokenExchange: { issuer, ...client, audience: "reports" },
        },
      },
      {
        name: "drive",
        static: target,
        credentials: {
          oauth: {
            resource: `http://127.0.0.1:${service}/`,
            issuer,
            ...client,
            scopes: ["openid"],
          },
        },
      },
      { name: "open", static: target },
    ],
    routes: [
      at("/reports", signed, "reports"),
      at("/drive", signed, "drive"),
      at("/asked", asked, "open"),
      at("/bound", signed, "open"),
      {
        name: "site",
        matches: [{ path: { type: "PathPrefix", value: "/site" } }],
        policies: {
          oidc: {
            issuer,
            clientId: "gateway",
            clientSecret: GATEWAY_SECRET,
            cookieSecret: "a cookie secret of at least 32 characters",
            forwardAccessToken: true,
            logout: { redirectUrl: "/bye" },
          },
          authorization: {
            policy: {
              matchExpressions: ["jwt.preferred_username == 'ada'"],
            },
          },
        },
        backends: [{ backend: "open" }],
      },
    ],
  };
}

Deno.test("users log in, exchange, bind and revoke tokens of a real Keycloak through the gateway", async (test) => {
  await using keycloak = await Keycloak.start();
  await using service = startService();
  const port = freePort();
  const origin = `http://127.0.0.1:${port}`;
  const realm = await KeycloakRealm.create(keycloak, origin);
  const store = await Deno.makeTempDir();
  const configuration = configurationOf(realm, {
    service: service.port,
    origin,
    store: `${store}/store.sqlite`,
  });
  await using _gateway = await startTestGateway(configuration, { port });
  const send = async (path: string, authorization: string, proof?: string) => {
    const response = await fetch(origin + path, {
      headers: { authorization, ...(proof !== undefined && { dpop: proof }) },
    });
    const text = await response.text();
    return { status: response.status, text, headers: response.headers };
  };

  await test.step("token exchange (RFC 8693)", async () => {
    for (const name of ["ada", "ben"]) {
      const { token } = await realm.tokenOf(name);
      const { status, text } = await send("/reports", `Bearer ${token}`);
      assert.equal(status, 200, text);
      const own = decodeJwt(text.replace("Bearer ", ""));
      assert.equal(own.sub, decodeJwt(token).sub);
      assert.deepEqual([own["azp"], [own.aud].flat().includes("reports")], [
        "gateway",
        true,
      ]);
      assert(!text.includes(token));
    }
  });

  await test.step("introspection (RFC 7662), and revocation (RFC 7009) of the user's token", async () => {
    const { token } = await realm.tokenOf("ada");
    assert.equal((await send("/asked", `Bearer ${token}`)).status, 200);
    await realm.revoke(token);
    assert.equal((await send("/asked", `Bearer ${token}`)).status, 401);
  });

  await test.step("DPoP (RFC 9449)", async () => {
    const client = await createDpopClient();
    const { tokenEndpoint } = realm;
    const { token, type } = await realm.tokenOf("ada", {
      dpop: await client.prove(tokenEndpoint, "", {
        claims: { htm: "POST", ath: undefined },
      }),
    });
    assert.equal(type, "DPoP");
    const proof = await client.prove(`${origin}/bound`, token);
    assert.equal((await send("/bound", `DPoP ${token}`, proof)).status, 200);
    assert.equal((await send("/bound", `DPoP ${token}`, proof)).status, 401);
    assert.equal((await send("/bound", `Bearer ${token}`)).status, 401);
    const thief = await createDpopClient();
    const stolen = await thief.prove(`${origin}/bound`, token);
    assert.equal((await send("/bound", `DPoP ${token}`, stolen)).status, 401);
  });

  await test.step("browser login (oidc), and its logout here and at Keycloak", async () => {
    const url = `${origin}/site/page?a=1`;
    const { user, page } = await realm.open("ada", url);
    assert.deepEqual([page.url.href, page.status], [url, 200], page.text);
    const token = page.text.replace("Bearer ", "");
    assert.equal(decodeJwt(token)["azp"], "gateway");
    assert.equal((await realm.open("ben", url)).page.status, 403);

    const left = await user.visit(
      `${origin}/oauth2/logout`,
      new URLSearchParams(),
    );
    assert.equal(left.url.pathname, "/bye");
    assert.equal(await realm.isActive(token), false);
    const again = await user.visit(url);
    assert.equal(again.url.origin, realm.origin);
    assert.match(again.text, /name="password"/);
  });

  await test.step("login at a service, and its revocation", async () => {
    const { token } = await realm.tokenOf("ada");
    const asked = await send("/drive", `Bearer ${token}`);
    assert.equal(asked.status, 403);
    const { user, page } = await realm.connect(
      "ada",
      JSON.parse(asked.text).url,
    );
    assert.match(page.text, /Connected\./);

    const { status, text } = await send("/drive", `Bearer ${token}`);
    assert.equal(status, 200);
    const own = text.replace("Bearer ", "");
    assert.equal(decodeJwt(own).sub, decodeJwt(token).sub);
    assert.notEqual(own, token);
    assert.equal(await realm.isActive(own), true);

    const { token: other } = await realm.tokenOf("ben");
    assert.equal((await send("/drive", `Bearer ${other}`)).status, 403);

    const list = await user.visit(`${origin}/connections`);
    const ended = await user.submit(list, "", "/revoke");
    assert.match(ended.text, /Disconnected\./);
    assert.equal((await send("/drive", `Bearer ${token}`)).status, 403);
    assert.equal(await realm.isActive(own), false);
  });
});
