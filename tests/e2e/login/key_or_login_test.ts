import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";
import { TestServer } from "../../harness/servers/echo_server.ts";

const metadataUrl = /resource_metadata="http:[^"]+\/mcp"/;

/** Starts a gateway whose route accepts a token or an API key. */
async function setUp(
  { gatewayPolicies, ...policies }: Readonly<Record<string, unknown>> = {},
  backends: readonly unknown[] = [],
) {
  await using opening = new AsyncDisposableStack();
  const idp = await createTokenIssuer();
  const gateway = opening.use(
    await startTestGateway({
      ...(gatewayPolicies !== undefined && { policies: gatewayPolicies }),
      routes: [{
        name: "mcp",
        matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
        policies: {
          jwtAuthentication: {
            mode: "AnyOf",
            providers: [{
              issuer: idp.issuer,
              audiences: ["https://gw.example/mcp"],
              jwks: { inline: jwksOf(idp) },
            }],
            mcp: {},
          },
          apiKeyAuthentication: {
            mode: "AnyOf",
            keys: [{ key: "blue-key", metadata: { team: "blue" } }],
          },
          authorization: {
            policy: {
              matchExpressions: ["apiKey.team == 'blue' || jwt.sub == 'user'"],
            },
          },
          directResponse: { status: 200, body: "in" },
          ...policies,
        },
        ...(backends.length > 0 && { backends }),
      }],
    }),
  );
  const open = opening.move();
  return {
    idp,
    gateway,
    send: async (headers: Readonly<Record<string, string>>, path = "/mcp") => {
      const response = await fetch(gateway.origin + path, { headers });
      const body = await response.text();
      return {
        status: response.status,
        challenge: response.headers.get("www-authenticate") ?? "",
        body,
      };
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

Deno.test("a route accepts a key or a token, and others learn how to log in", async () => {
  await using site = await setUp();
  const { send, idp } = site;
  const token = await idp.sign();

  const accepted = [
    await send({ "x-api-key": "blue-key" }),
    await send({ authorization: "Bearer blue-key" }),
    await send({ authorization: `Bearer ${token}` }),
  ];
  const rejected = [
    await send({}),
    await send({ "x-api-key": "red-key" }),
    await send({ authorization: "Bearer red-key" }),
    await send({ authorization: `Bearer ${await idp.sign({ exp: 1 })}` }),
  ];

  assert.deepEqual(accepted.map(({ status }) => status), [200, 200, 200]);
  for (const { status, challenge } of rejected) {
    assert.equal(status, 401);
    assert.match(challenge, metadataUrl);
  }
  assert.match(rejected.at(-1)?.challenge ?? "", /error="invalid_token"/);
});

Deno.test("clients with a key read the metadata of a server too", async () => {
  await using site = await setUp();

  const { status, body } = await site.send(
    { "x-api-key": "blue-key" },
    "/.well-known/oauth-protected-resource/mcp",
  );

  assert.equal(status, 200);
  assert.equal(JSON.parse(body).resource, `${site.gateway.origin}/mcp`);
});

Deno.test("a password is an alternative as well", async () => {
  await using site = await setUp({
    basicAuthentication: {
      mode: "AnyOf",
      users: ["anna:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="],
    },
    authorization: undefined,
  });
  const basic = (text: string) => ({ authorization: `Basic ${btoa(text)}` });

  const right = await site.send(basic("anna:secret"));
  const wrong = await site.send(basic("anna:wrong"));

  assert.equal(right.status, 200);
  assert.equal(wrong.status, 401);
  assert.match(wrong.challenge, metadataUrl);
});

Deno.test("a key of the gateway is no alternative to what its route demands", async () => {
  await using site = await setUp({
    gatewayPolicies: [{
      name: "door",
      targetRefs: [{ kind: "Gateway", name: "default" }],
      phase: "PreRouting",
      traffic: {
        apiKeyAuthentication: { mode: "AnyOf", keys: [{ key: "door-key" }] },
      },
    }],
    apiKeyAuthentication: {
      mode: "AnyOf",
      keys: [{ key: "blue-key" }],
      location: { header: { name: "x-team-key" } },
    },
    authorization: undefined,
  });

  const outside = await site.send({ "x-team-key": "blue-key" });
  const half = await site.send({ "x-api-key": "door-key" });
  const both = await site.send({
    "x-api-key": "door-key",
    "x-team-key": "blue-key",
  });

  assert.deepEqual([outside, half, both].map(({ status }) => status), [
    401,
    401,
    200,
  ]);
});

Deno.test("a mode AnyOf without an alternative is strict", async () => {
  await using site = await setUp({ apiKeyAuthentication: undefined });

  const { status } = await site.send({ "x-api-key": "blue-key" });

  assert.equal(status, 401);
});

Deno.test("a key does not let a token that nobody has checked through", async () => {
  await using server = await TestServer.start();
  await using site = await setUp({ directResponse: undefined }, [{
    host: `127.0.0.1:${server.port}`,
  }]);

  const { status, body } = await site.send({
    "x-api-key": "blue-key",
    authorization: "DPoP of-another-client",
    dpop: "proof",
  });

  assert.equal(status, 200);
  assert.doesNotMatch(body, /of-another-client|proof/);
});
