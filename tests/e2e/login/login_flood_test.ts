import assert from "node:assert/strict";
import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import { CookieJar, logIn } from "../../harness/browser/browser_user.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { protectedConfig } from "../../harness/gateway/protected_gateway.ts";
import { loginSteps } from "../../harness/gateway/proxied_gateway.ts";

const FLOOD = 40;
const PER_CLIENT = 16;

/** Starts a provider that logs everybody in at once, and holds token requests while `holds` is set. */
async function startSlowProvider() {
  const gate = Promise.withResolvers<void>();
  const waiting: { readonly count: number; readonly resolve: () => void }[] =
    [];
  const state = { holds: false, tokenRequests: 0, audience: "" };
  const port = freePort();
  const issuer = await createTokenIssuer({
    issuer: `http://127.0.0.1:${port}/`,
  });
  const server = serveLoopback(port, async (request) => {
    const { origin, pathname, searchParams } = new URL(request.url);
    await request.text();
    if (pathname === "/authorize") {
      const back = new URL(searchParams.get("redirect_uri") ?? "");
      back.searchParams.set("code", "provider-code");
      back.searchParams.set("state", searchParams.get("state") ?? "");
      return Response.redirect(back, 303);
    }
    if (pathname === "/jwks.json") return new Response(jwksOf(issuer));
    if (pathname !== "/token") {
      return Response.json({
        issuer: `${origin}/`,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
      });
    }
    state.tokenRequests++;
    for (const { count, resolve } of waiting) {
      if (state.tokenRequests >= count) resolve();
    }
    if (state.holds) await gate.promise;
    return Response.json({
      access_token: await issuer.sign({ aud: state.audience }),
      token_type: "Bearer",
      refresh_token: "provider-refresh-token",
    });
  });
  return {
    ...server,
    issuer: `${server.origin}/`,
    jwksPath: "/jwks.json",
    state,
    /** Resolves once so many token requests have arrived. */
    arrived(count: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (state.tokenRequests >= count) resolve();
      else waiting.push({ count, resolve });
      return promise;
    },
    release: () => gate.resolve(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

Deno.test("a flood of the token endpoint by one client does not lock out others, and the log explains it", async () => {
  await using idp = await startSlowProvider();
  const port = freePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  idp.state.audience = url;
  await using gateway = await startTestGateway(
    protectedConfig(idp, {
      provider: "IdpA",
      url,
      upstream: "http://127.0.0.1:9",
      mcp: { issuerMode: "Proxied", clientId: "gateway" },
      // The tests stand in for a load balancer.
      config: { trustedProxies: ["127.0.0.1"] },
    }),
    { port },
  );
  const steps = loginSteps(url);
  const client = await steps.registerClient();
  // Each from a login of its own, as requests with one token share a renewal.
  const tokens: string[] = [];
  while (tokens.length <= FLOOD) {
    const jar = new CookieJar();
    const callback = await logIn(steps.authorizeUrl(client), {}, jar);
    const { body } = await steps.redeem(
      client,
      callback.searchParams.get("code"),
    );
    tokens.push(String(body.refresh_token));
  }
  const refreshFrom = (address: string) =>
    steps.token({
      grant_type: "refresh_token",
      client_id: client,
      refresh_token: tokens.pop() ?? "",
    }, { "x-forwarded-for": `203.0.113.99, ${address}` });
  const before = idp.state.tokenRequests;
  idp.state.holds = true;

  const flood = Array.from({ length: FLOOD }, () => refreshFrom("192.0.2.1"));
  await idp.arrived(before + PER_CLIENT);
  const other = refreshFrom("192.0.2.2");
  await idp.arrived(before + PER_CLIENT + 1);
  idp.release();

  assert.equal((await other).status, 200);
  const answers = await Promise.all(flood);
  const rejected = answers.filter(({ status }) => status !== 200);
  assert.equal(rejected.length, FLOOD - PER_CLIENT);
  for (const { status, headers, body } of rejected) {
    assert.deepEqual([status, headers.get("retry-after"), body.error], [
      503,
      "1",
      "temporarily_unavailable",
    ]);
  }
  assert.equal(idp.state.tokenRequests, before + PER_CLIENT + 1);
  assert.equal(
    gateway.accessLog.filter((line) =>
      line.includes('error="too many requests from your address at a time"')
    ).length,
    FLOOD - PER_CLIENT,
  );
});
