import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { exportSPKI, importJWK } from "jose";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { IdentityServer } from "../../../harness/login/identity_server.ts";
import { createTokenIssuer } from "../../../harness/login/tokens.ts";
import {
  audience,
  callMcp,
  startGuardedServer,
} from "../../../harness/servers/guarded_server.ts";

/** Starts a gateway that accepts the tokens of two providers, which use the same key id. */
async function setUp(
  mcpOf?: (issuers: readonly string[]) => Readonly<Record<string, unknown>>,
) {
  await using opening = new AsyncDisposableStack();
  const server = opening.use(startGuardedServer());
  const idps = [
    opening.use(await IdentityServer.start()),
    opening.use(await IdentityServer.start()),
  ] as const;
  const [ann, bot] = [
    await createTokenIssuer({ issuer: `${idps[0].origin}/` }),
    await createTokenIssuer({ issuer: `${idps[1].origin}/` }),
  ];
  idps[0].keys = [ann];
  idps[1].keys = [bot];
  const mcp = mcpOf?.([ann.issuer, bot.issuer]);
  const gateway = opening.use(
    await startTestGateway({
      routes: [{
        name: "mcp",
        matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
        backends: [{ host: server.host }],
        policies: {
          jwtAuthentication: {
            providers: idps.map(({ origin }, index) => ({
              issuer: `${origin}/`,
              audiences: index === 0 ? [audience] : [audience, "machines"],
              jwks: { url: `${origin}/jwks.json` },
            })),
            ...(mcp && { mcp }),
          },
        },
      }],
    }),
  );
  const open = opening.move();
  return {
    server,
    idps,
    ann,
    bot,
    gateway,
    call: async (token: string) => (await callMcp(gateway, token)).status,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

Deno.test("each token is verified with the keys and audiences of its issuer, by one fetch for each provider", async () => {
  await using story = await setUp();
  const { ann, bot, call, idps } = story;

  assert.equal(await call(await ann.sign()), 200);
  assert.equal(await call(await bot.sign()), 200);
  assert.equal(await call(await bot.sign({ aud: "machines" })), 200);
  assert.equal(await call(await ann.sign({ aud: "machines" })), 401);
  assert.deepEqual(idps.map(({ keyRequests }) => keyRequests), [1, 1]);
});

Deno.test("the same subject of two providers is two clients", async () => {
  await using story = await setUp();
  const { ann, bot, call, gateway: { gateway } } = story;
  for (const { sign } of [ann, bot]) {
    assert.equal(await call(await sign({ sub: "root" })), 200);
  }

  const { requests } = await gateway.dataPlane.call("requests", { limit: 9 });

  assert.deepEqual(
    requests.map(({ key }) => key).toSorted(),
    [ann, bot].map(({ issuer }) => `${issuer}#root`).toSorted(),
  );
});

Deno.test("no token of one provider passes as one of the other, and none of them reaches the server", async () => {
  await using story = await setUp();
  const { ann, bot, call, server } = story;
  const key = await importJWK(ann.jwk, "ES256");
  assert(!(key instanceof Uint8Array));
  const pem = await exportSPKI(key);
  const encode = (value: unknown) =>
    new TextEncoder().encode(JSON.stringify(value))
      .toBase64({ alphabet: "base64url", omitPadding: true });
  const claims = {
    iss: ann.issuer,
    aud: audience,
    sub: "root",
    exp: Date.now() / 1000 + 300,
  };
  const confused = `${encode({ alg: "HS256", kid: "k1" })}.${encode(claims)}`;
  const good = (await ann.sign()).split(".");
  const attacks = {
    "bot's key, ann's issuer": await bot.sign({ iss: ann.issuer }),
    "ann's key, bot's issuer": await ann.sign({ iss: bot.issuer }),
    "both issuers": await bot.sign({ iss: [bot.issuer, ann.issuer] }),
    "no issuer": await ann.sign({ iss: undefined }),
    "unknown issuer": await ann.sign({ iss: "https://hostile.example/" }),
    "issuer without slash": await ann.sign({ iss: ann.issuer.slice(0, -1) }),
    "issuer in capitals": await ann.sign({ iss: ann.issuer.toUpperCase() }),
    "the public key as a secret": `${confused}.${
      createHmac("sha256", pem).update(confused).digest("base64url")
    }`,
    "no algorithm": `${encode({ alg: "none" })}.${encode(claims)}.`,
    "payload of the other": `${good[0]}.${
      encode({ ...claims, iss: bot.issuer })
    }.${good[2]}`,
    "its own key in the header": await bot.sign({ iss: ann.issuer }, {
      jwk: bot.jwk,
    }),
  };

  const statuses = new Map<string, number>();
  for (const [attack, token] of Object.entries(attacks)) {
    statuses.set(attack, await call(token));
  }

  assert.deepEqual(
    [...statuses].filter(([, status]) => status !== 401),
    [],
  );
  assert.deepEqual(server.reached, []);
});

Deno.test("a provider that is down closes the server for its own tokens only, and its key set says so", async () => {
  await using story = await setUp();
  const { ann, bot, call, idps, gateway } = story;
  await idps[1].become("down");

  const closed = await callMcp(gateway, await bot.sign());
  assert.deepEqual([closed.status, closed.retryAfter], [503, "1"]);
  assert.equal(await call(await ann.sign()), 200);
  assert.equal(await call(await ann.sign({ iss: "https://x.example/" })), 401);

  const state = await gateway.gateway.dataPlane.call("describeState");
  assert.deepEqual(
    state.keySets.map(({ issuers, keys, lastError }) => [
      issuers,
      keys,
      lastError === null,
    ]),
    [[[ann.issuer], 1, true], [[bot.issuer], 0, false]],
  );
});

async function metadataOf({ origin }: { readonly origin: string }, of: string) {
  const { status, bytes } = await fetchRaw(`${origin}/.well-known/${of}/mcp`);
  assert.equal(status, 200);
  return JSON.parse(new TextDecoder().decode(bytes));
}

Deno.test("with issuer mode Upstream the metadata list all issuers, the one that the configuration names first", async () => {
  for (const first of [undefined, 0, 1]) {
    await using story = await setUp((issuers) =>
      first === undefined ? {} : { issuer: issuers[first] }
    );
    const { gateway, ann, bot, call } = story;
    const issuers = [ann.issuer, bot.issuer];

    const resource = await metadataOf(gateway, "oauth-protected-resource");
    const server = await metadataOf(gateway, "oauth-authorization-server");

    assert.deepEqual(
      resource.authorization_servers,
      first === 1 ? issuers.toReversed() : issuers,
    );
    assert.equal(server.issuer, issuers[first ?? 0]);
    assert.equal(await call(await ann.sign()), 200);
    assert.equal(await call(await bot.sign()), 200);
  }
});

Deno.test("with issuer mode Gateway users log in at the provider that the configuration names, and tokens of both pass", async () => {
  await using story = await setUp(([, issuer]) => ({
    issuerMode: "Gateway",
    issuer,
  }));
  const { gateway, idps, ann, bot, call } = story;

  const resource = await metadataOf(gateway, "oauth-protected-resource");
  const server = await metadataOf(gateway, "oauth-authorization-server");

  assert.deepEqual(resource.authorization_servers, [`${gateway.origin}/mcp`]);
  assert.equal(server.issuer, `${gateway.origin}/mcp`);
  assert.equal(server.token_endpoint, `${idps[1].origin}/token`);
  assert.equal(await call(await ann.sign()), 200);
  assert.equal(await call(await bot.sign()), 200);
});
