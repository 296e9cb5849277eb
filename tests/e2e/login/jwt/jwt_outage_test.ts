import assert from "node:assert/strict";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import {
  audience,
  callMcp,
  guardedRoute,
  startGuardedServer,
} from "../../../harness/servers/guarded_server.ts";
import {
  issuer,
  routeTo,
  startStory,
} from "../../../harness/login/identity_story.ts";
import {
  type Condition,
  IdentityServer,
} from "../../../harness/login/identity_server.ts";
import { GatewayProcess } from "../../../harness/gateway/gateway_process.ts";
import { startReloadableGateway } from "../../../harness/gateway/reloadable_gateway.ts";
import { createTokenIssuer } from "../../../harness/login/tokens.ts";

const second = 1000;
const minute = 60 * second;
const alice = await createTokenIssuer({ issuer, kid: "k1" });
const bob = await createTokenIssuer({ issuer, kid: "k2" });
const carol = await createTokenIssuer({ issuer, kid: "k3" });

function setUp(condition?: Condition) {
  return startStory(alice, condition);
}

for (const condition of ["down", "failing", "garbled", "empty"] as const) {
  Deno.test(`started while its provider is ${condition} the server is closed, sends Retry-After, and opens then`, async () => {
    await using story = await setUp(condition);
    const { clock, idp, gateway, server, call, sign } = story;

    for (const wait of ["1", "2", "4", "8", "16", "32", "60", "60"]) {
      const { status, retryAfter } = await callMcp(gateway, await sign());
      assert.deepEqual({ status, retryAfter }, {
        status: 503,
        retryAfter: wait,
      });
      assert.equal((await callMcp(gateway)).status, 401);
      clock.advance(Number(wait) * second);
    }
    assert.deepEqual(server.reached, []);

    await idp.become("up");
    assert.equal(await call(), 200);
    assert.equal(await call(bob), 401);
  });
}

Deno.test("a provider that never answers is given up after 5 seconds, for all who wait", async () => {
  await using server = startGuardedServer();
  await using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const clock = new FakeClock();
  await using gateway = await startReloadableGateway([
    guardedRoute(server, {
      issuer,
      jwks: { url: `http://127.0.0.1:${listener.addr.port}/jwks.json` },
    }),
  ], { clock });
  using _connection = await listener.accept();
  const token = await alice.sign({ exp: clock.now() / 1000 + 300 });

  const answers = Promise.all([1, 2, 3].map(() => callMcp(gateway, token)));
  // Nothing tells when all three wait: time goes on until they were answered.
  const ticking = setInterval(() => clock.advance(second), 10);

  const statuses = (await answers).map(({ status }) => status);
  clearInterval(ticking);
  assert.deepEqual(statuses, [503, 503, 503]);
});

Deno.test("an hour without the provider locks nobody out who has a key it published", async () => {
  await using story = await setUp();
  const { clock, idp, call } = story;
  assert.equal(await call(), 200);

  for (const condition of ["down", "failing", "garbled", "empty"] as const) {
    await idp.become(condition);
    for (let passed = 0; passed < 60; passed++) {
      clock.advance(minute);
      assert.equal(await call(), 200);
      assert.equal(await call(bob), 503);
    }
  }
});

Deno.test("while the provider is away a key that is not known is a 503 that no client takes for a demand to log in, and then what it is", async () => {
  await using story = await setUp();
  const { clock, idp, gateway, server, call, sign } = story;
  assert.equal(await call(), 200);
  const before = idp.keyRequests;
  await idp.become("failing");
  clock.advance(second);

  assert.deepEqual(await callMcp(gateway, await sign(bob)), {
    status: 503,
    challenge: undefined,
    retryAfter: "10",
  });
  clock.advance(second);
  await callWithRandomKeys(gateway, 1000, 503);
  assert.equal(idp.keyRequests, before + 1);
  assert.deepEqual([await call(), server.reached.length], [200, 2]);

  await idp.become("up");
  idp.keys = [alice, bob];
  assert.equal(await call(bob), 503);
  clock.advance(10 * second);
  assert.deepEqual([await call(bob), await call(carol)], [200, 401]);
});

Deno.test("a key that was withdrawn is rejected once the keys are fetched again", async () => {
  await using story = await setUp();
  const { clock, idp, call } = story;
  idp.keys = [alice, bob];
  assert.equal(await call(), 200);

  idp.keys = [bob];
  clock.advance(31 * minute);

  assert.deepEqual([await call(), await call(bob)], [401, 200]);
});

Deno.test("a token signed by a key that has just appeared is accepted at the first try, also while keys are refreshed", async () => {
  await using story = await setUp();
  const { clock, idp, call } = story;
  assert.equal(await call(), 200);

  clock.advance(second);
  idp.keys = [alice, bob];
  assert.equal(await call(bob), 200);

  // The keys are old: this request starts a refresh and must wait for it.
  clock.advance(16 * minute);
  idp.keys = [carol];
  assert.equal(await call(carol), 200);
  assert.equal(await call(alice), 401);
});

Deno.test("ten thousand tokens with random key ids cost the provider one fetch per cool-down", async () => {
  await using story = await setUp();
  const { clock, idp, gateway, call } = story;
  assert.equal(await call(), 200);
  const before = idp.keyRequests;

  const fetches: number[] = [];
  for (const pause of [second, second, 10 * second]) {
    clock.advance(pause);
    await callWithRandomKeys(gateway, 10_000 / 3);
    fetches.push(idp.keyRequests - before);
  }

  assert.deepEqual(fetches, [1, 1, 2]);
  assert.equal(await call(), 200);
});

Deno.test("a reload while the provider is down keeps the keys; a provider that is new is closed until it is up", async () => {
  await using story = await setUp();
  const { clock, idp, server, gateway, call } = story;
  assert.equal(await call(), 200);
  await idp.become("down");

  assert(await gateway.reload([{ ...routeTo(server, idp), backends: [] }]));
  assert.equal(await call(), 200);
  assert(
    await gateway.reload([routeTo(server, idp, { path: "/other/jwks.json" })]),
  );
  assert.equal(await call(), 503);
  assert.equal((await callMcp(gateway)).status, 401);

  await idp.become("up");
  clock.advance(second);
  assert.equal(await call(), 200);
});

Deno.test("metadata outlive the provider, with the challenge that leads there", async () => {
  await using story = await setUp();
  const { clock, idp, server, gateway } = story;
  await gateway.reload([routeTo(server, idp, { issuer: `${idp.origin}/` })]);
  const url = `${gateway.origin}/.well-known/oauth-authorization-server/mcp`;
  const read = async () => {
    const response = await fetch(url);
    return { status: response.status, document: await response.json() };
  };
  const before = await read();
  assert.equal(before.status, 200);

  for (const condition of ["down", "failing", "garbled", "empty"] as const) {
    await idp.become(condition);
    for (let passed = 0; passed < 60; passed += 4) {
      clock.advance(4 * minute);
      assert.deepEqual(await read(), before);
    }
  }
  assert.equal((await callMcp(gateway)).status, 401);

  await idp.become("up");
  idp.metadata = { client_id_metadata_document_supported: true };
  clock.advance(20 * minute);
  assert.deepEqual(await read(), {
    status: 200,
    document: {
      ...before.document,
      client_id_metadata_document_supported: true,
    },
  });
});

Deno.test("the state of keys that cannot be had is in the configuration dump, the metrics and the log, without a secret", async () => {
  await using server = startGuardedServer();
  await using idp = await IdentityServer.start({ condition: "failing" });
  await using gateway = await GatewayProcess.start({
    config: routeTo(server, idp),
  });
  const source = `${idp.origin}/jwks.json`;
  const token = await alice.sign();

  const { status } = await callMcp(gateway, token);

  assert.equal(status, 503);
  const line = await gateway.log.next(/Cannot fetch keys/);
  assert.match(line, /source=\S+\/jwks\.json .*expected status 200, got 500/);
  const dump = await (await fetch(`${gateway.admin}/config_dump`)).json();
  const { failures, retryAt, refreshAt, ...keySet } = dump.keySets[0];
  assert(failures > 0);
  assert.match(retryAt, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  assert.equal(refreshAt, retryAt);
  assert.deepEqual(keySet, {
    issuers: [issuer],
    policies: ["default/mcp/policies"],
    source,
    fetchedAt: null,
    ageSeconds: null,
    refreshes: failures,
    fetchingMs: null,
    keys: 0,
    kids: [],
    leftOutKeys: [],
    lastError: "unexpected response: expected status 200, got 500",
  });
  const metrics = await (await fetch(`${gateway.stats}/metrics`)).text();
  assert(
    metrics.includes(
      `gateway_jwks_refreshes_total{source="${source}",result="failure"} ${failures}`,
    ),
  );
});

/** Tokens that are right but for the key they name; each names another. */
async function callWithRandomKeys(
  gateway: { readonly origin: string },
  count: number,
  expected = 401,
): Promise<void> {
  const encode = (value: unknown) =>
    new TextEncoder().encode(JSON.stringify(value)).toBase64({
      alphabet: "base64url",
      omitPadding: true,
    });
  const claims = encode({ iss: issuer, aud: audience, exp: 4e9 });
  const signature = new Uint8Array(64).toBase64({
    alphabet: "base64url",
    omitPadding: true,
  });
  let left = Math.ceil(count);
  const caller = async () => {
    while (left-- > 0) {
      const header = encode({ alg: "ES256", kid: crypto.randomUUID() });
      const response = await fetch(`${gateway.origin}/mcp`, {
        headers: { authorization: `Bearer ${header}.${claims}.${signature}` },
      });
      assert.equal(response.status, expected);
      await response.body?.cancel();
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
}
