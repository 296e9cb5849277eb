/** Keys of identity providers with several workers: the provider sees one gateway. */
import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  callMcp,
  startGuardedServer,
} from "../../harness/servers/guarded_server.ts";
import { IdentityServer } from "../../harness/login/identity_server.ts";
import { issuer, routeTo } from "../../harness/login/identity_story.ts";
import { createTokenIssuer } from "../../harness/login/tokens.ts";

const old = await createTokenIssuer({ issuer, kid: "k1" });
const successor = await createTokenIssuer({ issuer, kid: "k2" });
/** The kernel chooses the worker of each connection: all get the same one of two once in 30 000 runs. */
const CONNECTIONS = 16;

Deno.test("two workers fetch the keys of a provider once, and a new key once", async () => {
  await using server = startGuardedServer();
  await using idp = await IdentityServer.start();
  idp.keys = [old];
  await using gateway = await GatewayProcess.start({
    config: { config: { workers: 2 }, ...routeTo(server, idp) },
  });
  const callMany = async (by: typeof old) => {
    const token = await by.sign();
    const calls = Array.from(
      { length: CONNECTIONS },
      () => callMcp(gateway, token),
    );
    return new Set((await Promise.all(calls)).map(({ status }) => status));
  };

  assert.deepEqual(await callMany(old), new Set([200]));
  assert.equal(idp.keyRequests, 1);
  idp.keys = [old, successor];
  assert.deepEqual(await callMany(successor), new Set([200]));

  assert.equal(idp.keyRequests, 2);
  const metrics = await (await fetch(`${gateway.stats}/metrics`)).text();
  assert.match(
    metrics,
    /^gateway_jwks_refreshes_total\{source="\S+",result="success"\} 2$/m,
  );
  const dump = await (await fetch(`${gateway.admin}/config_dump`)).json();
  const { issuers, refreshes, kids } = dump.keySets[0];
  assert.deepEqual({ issuers, refreshes, kids }, {
    issuers: [issuer],
    refreshes: 2,
    kids: ["k1", "k2"],
  });
});
