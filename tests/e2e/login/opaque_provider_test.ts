/** A provider with opaque access tokens in issuer mode `Proxied`: clients get tokens of the gateway, which asks the provider. */
import assert from "node:assert/strict";
import { initializeMcp } from "../../harness/clients/initialize_mcp.ts";
import { startProtectedGateway } from "../../harness/gateway/protected_gateway.ts";
import { loginSteps } from "../../harness/gateway/proxied_gateway.ts";
import { startGenericIdp } from "../../harness/login/generic_idp.ts";
import { freePort } from "../../harness/process/free_port.ts";

const secret = "planted/opaque+secret-6e19";

/** Starts the provider, and a gateway that lets only `anna` in. */
async function startSite() {
  const port = freePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const steps = loginSteps(url);
  const requests: string[] = [];
  const idp = await startGenericIdp({
    sendsIssuer: true,
    accessTokenFormat: "opaque",
    onRequest: (line) => requests.push(line),
    clients: [{
      client_id: "gateway",
      client_secret: secret,
      grant_types: ["authorization_code", "refresh_token"],
      redirect_uris: [`${steps.base}/callback`],
    }],
  });
  const gateway = await startProtectedGateway(idp, {
    port,
    provider: "IdpA",
    introspection: { clientId: "gateway", clientSecret: secret, cache: "0s" },
    rules: ["jwt.sub == 'anna'"],
    mcp: {
      provider: undefined,
      issuerMode: "Proxied",
      clientId: "gateway",
      clientSecret: secret,
      scopes: ["offline_access", "openid"],
    },
  });
  /** Reports whether the provider knows a token. */
  const isActive = async (token: unknown) => {
    const response = await fetch(`${idp.issuer}/introspect`, {
      method: "POST",
      headers: {
        // RFC 6749 section 2.3.1.
        authorization: `Basic ${btoa(`gateway:${encodeURIComponent(secret)}`)}`,
      },
      body: new URLSearchParams({ token: String(token) }),
    });
    return (await response.json()).active;
  };
  return {
    steps,
    gateway,
    requests,
    isActive,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

Deno.test("clients of a provider with opaque access tokens get tokens of the gateway, for the user whom the provider names", async () => {
  await using site = await startSite();
  const { steps, gateway, requests } = site;
  const client = await steps.registerClient();
  const logIn = async (account: string) => {
    const code = await steps.code(client, { account });
    return (await steps.redeem(client, code)).body;
  };
  const statusOf = async (token: unknown) =>
    (await initializeMcp(gateway, token)).status;

  const anna = await logIn("anna");
  const ben = await logIn("ben");
  const statuses = [
    await statusOf(anna.access_token),
    await statusOf(ben.access_token),
    await statusOf(`${anna.access_token}x`),
  ];
  const introspections = requests.filter((line) => line.includes("introspect"));
  const known = await site.isActive(anna.access_token);
  const refreshed = (await steps.refresh(client, anna.refresh_token)).body;
  const renewed = await statusOf(refreshed.access_token);
  await steps.revoke(client, refreshed.refresh_token);
  // Workers believe a check of the grant for up to five seconds.
  let revoked = await statusOf(refreshed.access_token);
  while (revoked === 200) revoked = await statusOf(refreshed.access_token);

  assert.deepEqual(statuses, [200, 403, 401]);
  assert(introspections.length > 0);
  assert.equal(known, false);
  assert.notEqual(refreshed.access_token, anna.access_token);
  assert.deepEqual([renewed, revoked], [200, 401]);
});
