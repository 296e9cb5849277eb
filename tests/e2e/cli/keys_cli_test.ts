import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  callMcp,
  startGuardedServer,
} from "../../harness/servers/guarded_server.ts";
import { IdentityServer } from "../../harness/login/identity_server.ts";
import { issuer, routeTo } from "../../harness/login/identity_story.ts";
import { createTokenIssuer } from "../../harness/login/tokens.ts";

const old = await createTokenIssuer({ issuer, kid: "k1" });
const successor = await createTokenIssuer({ issuer, kid: "k1" });
const token = "an-admin-token-of-this-test";

/** Starts a gateway process that has the keys of a provider. */
async function setUp() {
  await using opening = new AsyncDisposableStack();
  const server = opening.use(startGuardedServer());
  const idp = opening.use(await IdentityServer.start());
  idp.keys = [old];
  const gateway = opening.use(
    await GatewayProcess.start({
      config: { config: { adminToken: token }, ...routeTo(server, idp) },
    }),
  );
  const open = opening.move();
  return {
    idp,
    gateway,
    async call(by: typeof old): Promise<number> {
      const iat = Math.floor(Date.now() / 1000);
      return (await callMcp(gateway, await by.sign({ iat }))).status;
    },
    async gwctl(...args: string[]) {
      const { code, stdout, stderr } = await gatewayCommand({
        args: [
          ...["ctl", "proxy", "keys", ...args],
          ...["--admin", new URL(gateway.admin).host],
        ],
        env: { GATEWAY_ADMIN_TOKEN: token },
      }).output();
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return { code, stdout: text(stdout), stderr: text(stderr) };
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

Deno.test("gwctl proxy keys shows issuer, key IDs, age, next refresh and the last error", async () => {
  await using story = await setUp();
  const { idp, call, gwctl } = story;
  assert.equal(await call(old), 200);

  const shown = await gwctl();
  await idp.become("failing");
  const failed = await gwctl("refresh");
  const json = JSON.parse((await gwctl("-o", "json")).stdout);

  const [titles, keys, metadata] = shown.stdout.split("\n")
    .map((line) => line.split(/ {2,}/));
  assert.deepEqual(titles, [
    "DOCUMENT",
    "ISSUER",
    "KEY IDS",
    "AGE",
    "NEXT REFRESH",
    "SOURCE",
    "ERROR",
  ]);
  const [document, shownIssuer, kids, age, next, source] = keys ?? [];
  assert.deepEqual([document, shownIssuer, kids, source], [
    "keys",
    issuer,
    "k1",
    `${idp.origin}/jwks.json`,
  ]);
  assert.match(String(age), /^\d+s$/);
  assert.match(String(next), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.deepEqual(metadata?.slice(0, 5), ["metadata", "-", "-", "-", "-"]);
  assert.equal(failed.code, 1);
  assert.match(failed.stdout, /expected status 200, got 500/);
  assert.deepEqual([json.keySets[0].kids, json.keySets[0].failures], [
    ["k1"],
    1,
  ]);
});

for (const by of ["gwctl proxy keys refresh", "SIGHUP"] as const) {
  Deno.test(`${by} fetches keys that are fresh`, async () => {
    await using story = await setUp();
    const { idp, gateway, call, gwctl } = story;
    assert.equal(await call(old), 200);
    idp.keys = [successor];
    const before = idp.keyRequests;

    if (by === "SIGHUP") {
      gateway.signal("SIGHUP");
      await idp.requested(before + 1);
    } else {
      const { code, stderr } = await gwctl("refresh");
      assert.deepEqual([code, stderr], [0, ""]);
    }

    assert.equal(idp.keyRequests, before + 1);
    assert.equal(await call(successor), 200);
  });
}

Deno.test("keys are refreshed with the admin token only", async () => {
  await using story = await setUp();
  const { idp, gateway, call } = story;
  assert.equal(await call(old), 200);

  const { status, body } = await fetch(`${gateway.admin}/keys/refresh`, {
    method: "POST",
  });
  await body?.cancel();

  assert.deepEqual([status, idp.keyRequests], [401, 1]);
});
