import assert from "node:assert/strict";
import { serveLoopback } from "../../../../cli/dev/loopback_server.ts";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { openEgress } from "../../../../src/base/wire/egress_policy.ts";
import { OpenIdProvider } from "../../../../src/identity/openid/openid_provider.ts";
import { freePort } from "../../../harness/process/free_port.ts";
import { createTokenIssuer, jwksOf } from "../../../harness/login/tokens.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const minute = 60_000;

/** Starts a provider that can be away, and counts requests by their paths. */
async function setUp() {
  const port = freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const state = {
    isAway: false,
    signer: await createTokenIssuer({ issuer, alg: "ES256" }),
    requests: new Map<string, number>(),
  };
  const server = serveLoopback(port, (request) => {
    const { pathname } = new URL(request.url);
    state.requests.set(pathname, (state.requests.get(pathname) ?? 0) + 1);
    if (state.isAway) return new Response("", { status: 503 });
    return pathname === "/jwks"
      ? new Response(jwksOf(state.signer))
      : Response.json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
      });
  });
  const clock = new FakeClock();
  const provider = new OpenIdProvider(issuer, {
    clock,
    egress: openEgress,
    cancellation: new Cancellation(),
  });
  return Object.assign(state, {
    issuer,
    clock,
    provider,
    requestsOf: (path: string) => state.requests.get(path) ?? 0,
    [Symbol.asyncDispose]: () => server.close(),
  });
}

const metadataPath = "/.well-known/openid-configuration";

Deno.test("logins at the same time wait for one fetch of the metadata", async () => {
  await using test = await setUp();

  const all = await Promise.all(
    [1, 2, 3].map(() => test.provider.metadata()),
  );

  assert.deepEqual(all.map(({ issuer }) => issuer), Array(3).fill(test.issuer));
  assert.equal(test.requestsOf(metadataPath), 1);
});

Deno.test("logins go on with known metadata while the provider has none", async () => {
  await using test = await setUp();
  await test.provider.metadata();
  test.isAway = true;

  for (let passed = 0; passed < 60; passed += 10) {
    test.clock.advance(10 * minute);
    assert.equal((await test.provider.metadata()).issuer, test.issuer);
  }
});

Deno.test("a provider that is away is not asked again with each login", async () => {
  await using test = await setUp();
  test.isAway = true;

  for (let login = 0; login < 5; login++) {
    await assert.rejects(test.provider.metadata(), {
      code: "temporarily_unavailable",
      retryAfter: 1,
    });
  }
  assert.equal(test.requestsOf(metadataPath), 1);
  test.isAway = false;
  test.clock.advance(1000);
  assert.equal((await test.provider.metadata()).issuer, test.issuer);
});

Deno.test("new keys are fetched on demand, once in half a minute", async () => {
  await using test = await setUp();
  const old = await test.provider.keys();
  test.signer = await createTokenIssuer({ issuer: test.issuer, alg: "ES256" });

  const newer = await test.provider.keys(old);

  assert.notEqual(newer, old);
  assert.equal(await test.provider.keys(newer), newer);
  assert.equal(test.requestsOf("/jwks"), 2);
  test.clock.advance(minute / 2);
  assert.notEqual(await test.provider.keys(newer), newer);
  assert.equal(test.requestsOf("/jwks"), 3);
});
