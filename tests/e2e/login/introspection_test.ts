import assert from "node:assert/strict";
import { decodeJwt, exportPKCS8, generateKeyPair } from "jose";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  activeClaims,
  startIntrospectionServer,
} from "../../harness/login/introspection_server.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";

/** Starts a gateway that asks a server about opaque tokens. */
async function setUp(
  introspection: Readonly<Record<string, unknown>> = {},
  { mcp, providers = [], jwks }: {
    readonly mcp?: Readonly<Record<string, unknown>>;
    readonly providers?: readonly unknown[];
    readonly jwks?: unknown;
  } = {},
) {
  await using opening = new AsyncDisposableStack();
  const server = opening.use(await startIntrospectionServer());
  const gateway = opening.use(
    await startTestGateway({
      // Each worker asks for itself.
      config: { workers: 1 },
      routes: [{
        name: "mcp",
        matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
        policies: {
          jwtAuthentication: {
            providers: [{
              issuer: server.issuer,
              audiences: ["https://gw.example/mcp"],
              introspection: {
                clientId: "gateway",
                clientSecret: "introspection secret",
                ...introspection,
              },
              ...(jwks !== undefined && { jwks }),
            }, ...providers],
            ...(mcp && { mcp }),
          },
          authorization: {
            policy: { matchExpressions: ["jwt.scope == 'read'"] },
          },
          directResponse: { status: 200, body: "in" },
        },
      }],
    }),
  );
  const open = opening.move();
  return {
    server,
    gateway,
    send: async (token: string) => {
      const response = await fetch(`${gateway.origin}/mcp`, {
        headers: { authorization: `Bearer ${token}` },
      });
      await response.body?.cancel();
      return response;
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

for (const issuerMode of ["Upstream", "Gateway", "Proxied"]) {
  Deno.test(`opaque tokens are accepted in mode ${issuerMode}`, async () => {
    await using site = await setUp({}, {
      mcp: {
        issuerMode,
        ...(issuerMode === "Proxied" && { clientId: "gateway" }),
      },
    });
    site.server.tokens.set("good", activeClaims());

    const good = await site.send("good");
    const bad = await site.send("bad");

    assert.equal(good.status, 200);
    assert.equal(bad.status, 401);
    assert.match(
      bad.headers.get("www-authenticate") ?? "",
      /resource_metadata/,
    );
    assert.match(bad.headers.get("www-authenticate") ?? "", /not active/);
  });
}

const rejected: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "for another server": activeClaims({ aud: "https://other.example/" }),
  "without audience": activeClaims({ aud: undefined }),
  "of another issuer": activeClaims({ iss: "https://evil.example" }),
  "that has expired": activeClaims({ exp: 1 }),
  "that is not valid yet": activeClaims({ nbf: 4_000_000_000 }),
  "that is a refresh token": activeClaims({ token_use: "refresh_token" }),
  "of another type": activeClaims({ token_type: "mac" }),
};

for (const [name, claims] of Object.entries(rejected)) {
  Deno.test(`an opaque token ${name} is rejected`, async () => {
    await using site = await setUp();
    site.server.tokens.set("token", claims);

    const { status } = await site.send("token");

    assert.equal(status, 401);
  });
}

Deno.test("the server is asked once for many requests, and again when the cache has expired", async () => {
  await using site = await setUp({ cache: "200ms" });
  const { server, send } = site;
  server.tokens.set("token", activeClaims());
  const statuses = async () =>
    (await Promise.all(Array.from({ length: 10 }, () => send("token"))))
      .map(({ status }) => status);

  const first = await statuses();
  const asked = server.requests.length;
  server.tokens.delete("token");
  while ((await send("token")).status === 200) await Promise.resolve();

  assert.deepEqual(new Set(first), new Set([200]));
  assert.equal(asked, 1);
  assert.equal(server.requests.length, 2);
});

Deno.test("invented tokens are remembered, and evict none that is active", async () => {
  await using site = await setUp();
  const { server, send } = site;
  server.tokens.set("token", activeClaims());
  await send("token");

  const invented = await Promise.all(
    Array.from({ length: 50 }, (_, i) => send(`invented-${i % 10}`)),
  );
  await send("token");

  assert.deepEqual(
    new Set(invented.map(({ status }) => status)),
    new Set([401]),
  );
  assert.equal(server.requests.length, 11);
});

const faults: Readonly<Record<string, () => Response>> = {
  "an error": () => new Response("no", { status: 500 }),
  "a rejected client": () =>
    Response.json({ error: "invalid_client" }, {
      status: 401,
      headers: { "www-authenticate": "Basic" },
    }),
  "something else than JSON": () => new Response("<html>"),
  'an "active" that is no boolean': () =>
    Response.json({ ...activeClaims(), active: "true" }),
  "an array": () => Response.json([]),
  "a redirect": () => Response.redirect("http://127.0.0.1:1/", 302),
  "too much": () => Response.json({ active: true, a: "x".repeat(2 << 20) }),
};

for (const [name, fault] of Object.entries(faults)) {
  Deno.test(`tokens get 503 when the server responds with ${name}, and nobody is sent to log in`, async () => {
    await using site = await setUp({ cache: "0s" });
    site.server.tokens.set("token", activeClaims());
    site.server.fault = fault;

    const broken = await site.send("token");
    site.server.fault = undefined;
    const works = await site.send("token");

    assert.equal(broken.status, 503);
    assert.ok(broken.headers.get("retry-after"));
    assert.equal(broken.headers.get("www-authenticate"), null);
    assert.equal(works.status, 200);
    assert.ok(!site.gateway.log.join("\n").includes("introspection secret"));
  });
}

Deno.test("a signed response is verified", async () => {
  await using site = await setUp({ response: "Jwt", cache: "0s" });
  const { server, send } = site;
  server.tokens.set("token", activeClaims());
  const { signed } = server;
  const statusWith = async (change: Partial<typeof signed>) => {
    const before = { ...signed };
    Object.assign(signed, change);
    const { status } = await send("token");
    Object.assign(signed, before);
    return status;
  };

  assert.equal(await statusWith({}), 200);
  assert.equal(await statusWith({ isForged: true }), 503);
  assert.equal(await statusWith({ typ: "JWT" }), 503);
  assert.equal(await statusWith({ claims: { aud: "another" } }), 503);
  assert.equal(await statusWith({ claims: { iss: "https://evil" } }), 503);
  server.fault = () => Response.json({ active: true, ...activeClaims() });
  assert.equal((await send("token")).status, 503);
});

Deno.test("clients authenticate with a secret or a key", async () => {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  const pem = await exportPKCS8(privateKey);
  await using basic = await setUp();
  await using post = await setUp({ authMethod: "Post" });
  await using key = await setUp({
    clientSecret: undefined,
    privateKey: pem,
    keyId: "k9",
  });
  for (const site of [basic, post, key]) await site.send("token");

  const [byBasic, byPost, byKey] = [basic, post, key].map(({ server }) =>
    server.requests[0]
  );

  assert.equal(
    byBasic?.authorization,
    `Basic ${btoa("gateway:introspection+secret")}`,
  );
  assert.equal(byPost?.form["client_secret"], "introspection secret");
  const assertion = decodeJwt(byKey?.form["client_assertion"] ?? "");
  assert.equal(assertion.iss, "gateway");
  assert.equal(assertion.aud, key.server.issuer);
});

Deno.test("JWTs are verified with keys where there are some, and introspected where there are none", async () => {
  const idp = await createTokenIssuer();
  await using site = await setUp({}, {
    providers: [{
      issuer: idp.issuer,
      audiences: ["https://gw.example/mcp"],
      jwks: { inline: jwksOf(idp) },
    }],
  });
  const own = await createTokenIssuer({ issuer: site.server.issuer });
  const introspected = await own.sign({ scope: "read" });
  site.server.tokens.set(introspected, activeClaims());

  const verified = await site.send(await idp.sign({ scope: "read" }));
  const active = await site.send(introspected);
  const revoked = await site.send(await own.sign({ scope: "read", jti: "2" }));
  const expired = await site.send(await own.sign({ exp: 1 }));

  assert.deepEqual(
    [verified, active, revoked, expired].map(({ status }) => status),
    [200, 200, 401, 401],
  );
  assert.equal(site.server.requests.length, 2);
});

Deno.test("the metadata of another issuer is not used", async () => {
  await using site = await setUp();
  site.server.tokens.set("token", activeClaims());
  site.server.metadata = { issuer: "https://evil.example" };

  assert.equal((await site.send("token")).status, 503);
  assert.equal(site.server.requests.length, 0);
});
