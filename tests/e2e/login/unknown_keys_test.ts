/** Anybody can invent key IDs: that must neither fail requests nor fire alerts. */
import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { IdentityServer } from "../../harness/login/identity_server.ts";
import { createTokenIssuer } from "../../harness/login/tokens.ts";

const alerts = new URL(
  "../../../deploy/helm/gateway/monitoring/alerts.yaml",
  import.meta.url,
);

Deno.test("400 forged tokens with invented key IDs are rejected, and do not fire the shipped alert, with two workers", async () => {
  const issuer = await createTokenIssuer();
  const forger = await createTokenIssuer();
  await using idp = await IdentityServer.start();
  idp.keys = [issuer];
  await using gateway = await GatewayProcess.start({
    config: {
      config: { workers: 2 },
      routes: [{
        policies: {
          jwtAuthentication: {
            providers: [{
              issuer: issuer.issuer,
              audiences: ["https://gw.example/mcp"],
              jwks: { url: `${idp.origin}/jwks.json` },
            }],
          },
          directResponse: { status: 200, body: "open" },
        },
      }],
    },
  });
  const call = async (token: string) => {
    const response = await fetch(gateway.origin, {
      headers: { authorization: `Bearer ${token}`, connection: "close" },
    });
    await response.body?.cancel();
    return response.status;
  };
  const now = Math.floor(Date.now() / 1000);
  assert.equal(await call(await issuer.sign()), 200);

  const statuses: number[] = [];
  for (let at = 0; at < 400; at += 8) {
    statuses.push(
      ...await Promise.all(Array.from({ length: 8 }, async () => {
        const kid = crypto.randomUUID();
        return await call(await forger.sign({ iat: now }, { kid }));
      })),
    );
  }
  const metrics = await (await fetch(`${gateway.stats}/metrics`)).text();
  const alert = await Deno.readTextFile(alerts);
  const [, excluded = ""] = /status=~"5\.\.".*?reason!="(\w+)"/.exec(alert) ??
    [];
  const failures = metrics.split("\n").filter((line) =>
    /^gateway_requests_total\{.*status="5/.test(line) &&
    !line.includes(`reason="${excluded}"`)
  );

  const rejected = statuses.filter((status) => status === 401).length;
  assert(rejected >= 320, `${rejected} of 400 got 401`);
  assert.equal(excluded, "jwt_unknown_key");
  assert.deepEqual(failures, []);
  assert.equal(await call(await issuer.sign()), 200);
});
