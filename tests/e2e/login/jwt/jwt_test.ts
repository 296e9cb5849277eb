import assert from "node:assert/strict";
import { join } from "node:path";
import {
  audience,
  callMcp,
  type Guard,
  guardedRoute,
  startGuardedServer,
} from "../../../harness/servers/guarded_server.ts";
import { IdentityServer } from "../../../harness/login/identity_server.ts";
import { connectRaw } from "../../../harness/clients/raw_exchange.ts";
import { startReloadableGateway } from "../../../harness/gateway/reloadable_gateway.ts";
import { createTokenIssuer } from "../../../harness/login/tokens.ts";

const alice = await createTokenIssuer();

/** A gateway before a server, with the provider whose tokens open it. */
async function setUp(guard: Partial<Guard> = { mcp: { provider: "IdpA" } }) {
  await using opening = new AsyncDisposableStack();
  const server = opening.use(startGuardedServer());
  const idp = opening.use(await IdentityServer.start());
  idp.keys = [alice];
  const route = guardedRoute(server, {
    issuer: alice.issuer,
    jwks: { url: `${idp.origin}/jwks.json` },
    ...guard,
  });
  const gateway = opening.use(await startReloadableGateway([route]));
  const open = opening.move();
  return {
    server,
    idp,
    gateway,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

for (const method of ["GET", "POST", "DELETE"]) {
  Deno.test(`a protected MCP server demands a token on ${method} and names where to get one`, async () => {
    await using story = await setUp();
    const { origin } = story.gateway;

    const response = await fetch(`${origin}/mcp`, { method });

    assert.equal(response.status, 401);
    assert.equal(
      response.headers.get("www-authenticate"),
      `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
    );
    assert.deepEqual(await response.json(), {
      error: "unauthorized",
      error_description: "a bearer token is required",
    });
    assert.deepEqual(story.server.reached, []);
  });
}

for (const token of ["opaque", "eyJhbGciOiJkaXIifQ..aXY.Y2lwaGVy.dGFn"]) {
  Deno.test(`a token that only the provider can read, such as ${token}, is called opaque, with what to do about it`, async () => {
    await using story = await setUp();
    const { gateway } = story;

    const { status, challenge } = await callMcp(gateway, token);

    assert.equal(status, 401);
    assert.equal(
      challenge,
      `Bearer resource_metadata="${gateway.origin}/.well-known/oauth-protected-resource/mcp", error="invalid_token", error_description="token is opaque, not a JWT; the client must request a token for the audience of this server"`,
    );
  });
}

Deno.test("a valid token passes and is not forwarded to the MCP server; keys are fetched once", async () => {
  await using story = await setUp();
  const { gateway, idp, server } = story;
  const token = await alice.sign();

  assert.equal((await callMcp(gateway, token)).status, 200);
  assert.equal((await callMcp(gateway, token)).status, 200);

  assert.deepEqual(server.reached, [null, null]);
  assert.equal(idp.keyRequests, 1);
});

Deno.test("the token is forwarded where the configuration says so, and by plain JWT authentication", async () => {
  const token = await alice.sign();
  const reached = [];
  for (const guard of [{ mcp: { forwardToken: true } }, {}]) {
    await using story = await setUp(guard);
    await callMcp(story.gateway, token);
    reached.push(...story.server.reached);
  }

  assert.deepEqual(reached, [`Bearer ${token}`, `Bearer ${token}`]);
});

Deno.test("plain JWT authentication demands a token without naming metadata", async () => {
  await using story = await setUp({});

  assert.equal((await callMcp(story.gateway)).challenge, "Bearer");
});

for (const how of ["with a key store", "without a key store"]) {
  Deno.test(`${how} a restart while the provider is down ${how === "with a key store" ? "locks nobody out" : "closes the server"}`, async () => {
    const folder = await Deno.makeTempDir();
    const config = { kv: { path: join(folder, "keys.sqlite") } };
    await using story = await setUp(
      how === "with a key store" ? { more: { config } } : {},
    );
    const { gateway, idp } = story;
    const token = await alice.sign();
    assert.equal((await callMcp(gateway, token)).status, 200);

    await idp.become("down");
    await gateway.restart();

    const { status } = await callMcp(gateway, token);
    assert.equal(status, how === "with a key store" ? 200 : 503);
    assert.equal((await callMcp(gateway)).status, 401);
    await Deno.remove(folder, { recursive: true });
  });
}

for (
  const { mode, expected } of [
    { mode: "Strict", expected: [401, 401, 200] },
    { mode: "Optional", expected: [200, 401, 200] },
    { mode: "Permissive", expected: [200, 200, 200] },
  ]
) {
  Deno.test(`mode ${mode} returns ${expected} to no token, a bad one and a good one`, async () => {
    await using story = await setUp({ mode });
    const tokens = [undefined, "bad", await alice.sign()];

    const statuses = [];
    for (const token of tokens) {
      statuses.push((await callMcp(story.gateway, token)).status);
    }

    assert.deepEqual(statuses, expected);
  });
}

Deno.test("two credentials in one request are rejected", async () => {
  await using story = await setUp();
  const client = await connectRaw(Number(new URL(story.gateway.origin).port));
  const token = await alice.sign();

  await client.send(
    `GET /mcp HTTP/1.1\r\nHost: gw\r\nAuthorization: Bearer ${token}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );

  assert.match(await client.request(), /^HTTP\/1\.1 400 /);
  assert.deepEqual(story.server.reached, []);
  client.close();
});

Deno.test("a token in the query is no token", async () => {
  await using story = await setUp();
  const token = await alice.sign();

  const response = await fetch(
    `${story.gateway.origin}/mcp?access_token=${token}`,
  );

  assert.equal(response.status, 401);
  await response.body?.cancel();
});

Deno.test("a token for another server of the same provider is rejected", async () => {
  await using story = await setUp();
  const tokens = await Promise.all(
    [`${audience}/`, "https://gw.example", []].map((aud) =>
      alice.sign({ aud })
    ),
  );

  for (const token of tokens) {
    const { status, challenge } = await callMcp(story.gateway, token);
    assert.equal(status, 401);
    assert.match(challenge ?? "", /error="invalid_token"/);
  }
});
