import assert from "node:assert/strict";
import { join } from "node:path";
import { gatewayApiVersion } from "../../../../src/api/schema/group.ts";
import {
  createAuthority,
  type KeyPair,
} from "../../../harness/login/certificates.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import {
  callMcp,
  guardedRoute,
  startGuardedServer,
} from "../../../harness/servers/guarded_server.ts";
import { IdentityServer } from "../../../harness/login/identity_server.ts";
import { answer, RawUpstream } from "../../../harness/clients/raw_upstream.ts";
import {
  type Documents,
  startReloadableGateway,
} from "../../../harness/gateway/reloadable_gateway.ts";
import { createTokenIssuer, jwksOf } from "../../../harness/login/tokens.ts";

const name = "idp.example";
const authority = await createAuthority();
const otherAuthority = await createAuthority("Other CA");
const certificate = await authority.issueServer([name]);
const alice = await createTokenIssuer({ issuer: `https://${name}/` });

/** A route whose keys are on a backend with a TLS policy. */
function overTls(
  server: { readonly host: string },
  { port }: { readonly port: number },
  validation: Readonly<Record<string, unknown>> = {},
): Documents {
  const jwks = {
    remote: { backendRef: { name: "idp" }, jwksPath: "/jwks.json" },
  };
  return [
    guardedRoute(server, {
      issuer: alice.issuer,
      jwks,
      mcp: { provider: "IdpA" },
      more: {
        backends: [{ name: "idp", static: { host: "127.0.0.1", port } }],
      },
    }),
    {
      apiVersion: gatewayApiVersion,
      kind: "BackendTLSPolicy",
      metadata: { name: "idp" },
      spec: {
        targetRefs: [{ name: "idp" }],
        validation: {
          hostname: name,
          caCertificateRefs: [{ inline: authority.cert }],
          ...validation,
        },
      },
    },
  ];
}

async function startProvider(tls: KeyPair): Promise<IdentityServer> {
  const idp = await IdentityServer.start({ tls });
  idp.keys = [alice];
  return idp;
}

Deno.test("keys and metadata come through a backend that is verified with its own authority", async () => {
  await using server = startGuardedServer();
  await using idp = await startProvider(certificate);
  await using gateway = await startReloadableGateway(overTls(server, idp));

  const { status } = await callMcp(gateway, await alice.sign());
  const metadata = await fetch(
    `${gateway.origin}/.well-known/oauth-authorization-server/mcp`,
  );

  assert.equal(status, 200);
  const { issuer, jwks_uri } = await metadata.json();
  assert.deepEqual({ issuer, jwks_uri }, {
    issuer: `${gateway.origin}/mcp`,
    jwks_uri: `${idp.origin}/jwks.json`,
  });
  assert.deepEqual(idp.requests, [
    `GET /jwks.json ${name}:${idp.port}`,
    `GET /.well-known/oauth-authorization-server ${name}`,
  ]);
});

for (
  const { what, tls, validation = {} } of [
    {
      what: "is from another authority",
      tls: await otherAuthority.issueServer([name]),
    },
    {
      what: "is for another name",
      tls: await authority.issueServer(["other.example"]),
    },
    {
      what: "is for the address alone",
      tls: await authority.issueServer(["127.0.0.1"]),
    },
    { what: "expired", tls: await authority.issueExpired([name]) },
    {
      what: "is not trusted by the system",
      tls: certificate,
      validation: {
        caCertificateRefs: undefined,
        wellKnownCACertificates: "System",
      },
    },
    {
      what: "is for none of the alternative names",
      tls: certificate,
      validation: {
        subjectAltNames: [{ type: "Hostname", hostname: "c.example" }],
      },
    },
  ]
) {
  Deno.test(`keys of a backend whose certificate ${what} are not fetched: the server is closed`, async () => {
    await using server = startGuardedServer();
    await using idp = await startProvider(tls);
    await using gateway = await startReloadableGateway(
      overTls(server, idp, validation),
    );

    const { status, retryAfter } = await callMcp(gateway, await alice.sign());
    const metadata = await fetchRaw(
      `${gateway.origin}/.well-known/oauth-authorization-server/mcp`,
    );

    assert.equal(status, 503);
    assert.match(retryAfter ?? "", /^[12]$/);
    assert.equal(metadata.status, 503);
    assert.equal((await callMcp(gateway)).status, 401);
    assert.deepEqual(idp.requests, []);
    assert.deepEqual(server.reached, []);
    assert.match(gateway.log.join(""), /\tidentity\tCannot fetch keys source=/);
  });
}

Deno.test("metadata are those of the issuer's port when the keys are at another port of its host", async () => {
  await using server = startGuardedServer();
  await using keys = await IdentityServer.start();
  await using idp = await IdentityServer.start();
  await using gateway = await startReloadableGateway([
    guardedRoute(server, {
      issuer: `${idp.origin}/`,
      jwks: {
        remote: { backendRef: { name: "keys" }, jwksPath: "/jwks.json" },
      },
      mcp: { provider: "IdpA" },
      more: {
        backends: [{
          name: "keys",
          static: { host: "127.0.0.1", port: keys.port },
        }],
      },
    }),
  ]);

  const metadata = await fetch(
    `${gateway.origin}/.well-known/oauth-authorization-server/mcp`,
  );

  assert.equal((await metadata.json()).token_endpoint, `${idp.origin}/token`);
});

Deno.test("keys are never fetched in plain text from a backend with a TLS policy", async () => {
  const received: string[] = [];
  await using idp = new RawUpstream(async (connection) => {
    received.push(await connection.take(1));
    await connection.send(answer(jwksOf(alice)));
  });
  await using server = startGuardedServer();
  await using gateway = await startReloadableGateway(overTls(server, idp));

  const { status } = await callMcp(gateway, await alice.sign());

  assert.equal(status, 503);
  // The first byte of a TLS record that begins a handshake.
  assert.deepEqual([...new Set(received)], ["\x16"]);
});

Deno.test("a reload that corrects the authority opens the server, one that breaks it closes it", async () => {
  await using server = startGuardedServer();
  await using idp = await startProvider(certificate);
  const spoilt = overTls(server, idp, {
    caCertificateRefs: [{ inline: otherAuthority.cert }],
  });
  await using gateway = await startReloadableGateway(spoilt);
  const token = await alice.sign();
  const statuses = [(await callMcp(gateway, token)).status];

  for (const documents of [overTls(server, idp), spoilt]) {
    await gateway.reload(documents);
    statuses.push((await callMcp(gateway, token)).status);
  }

  assert.deepEqual(statuses, [503, 200, 503]);
});

Deno.test("keys come from a URL; over HTTPS only with a certificate the system trusts", async () => {
  await using server = startGuardedServer();
  await using plain = await IdentityServer.start();
  plain.keys = [alice];
  await using secure = await startProvider(
    await authority.issueServer(["127.0.0.1"]),
  );
  const token = await alice.sign();

  const statuses: number[] = [];
  for (const { origin } of [plain, secure]) {
    const route = guardedRoute(server, {
      issuer: alice.issuer,
      jwks: { url: `${origin}/tenant/jwks.json?v=1` },
    });
    await using gateway = await startReloadableGateway([route]);
    statuses.push((await callMcp(gateway, token)).status);
  }

  assert.deepEqual(statuses, [200, 503]);
  assert.deepEqual(plain.requests, [
    `GET /tenant/jwks.json 127.0.0.1:${plain.port}`,
  ]);
  assert.deepEqual(secure.requests, []);
});

Deno.test("a redirect to keys elsewhere is not followed", async () => {
  await using server = startGuardedServer();
  await using attacker = await IdentityServer.start();
  attacker.keys = [alice];
  await using idp = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(
      `HTTP/1.1 302 Found\r\nlocation: ${attacker.origin}/jwks.json\r\ncontent-length: 0\r\n\r\n`,
    );
  });
  await using gateway = await startReloadableGateway([
    guardedRoute(server, {
      issuer: alice.issuer,
      jwks: { url: `http://127.0.0.1:${idp.port}/jwks.json` },
    }),
  ]);

  assert.equal((await callMcp(gateway, await alice.sign())).status, 503);
  assert.deepEqual(attacker.requests, []);
});

Deno.test("keys in the configuration need no provider, and an unknown key is rejected", async () => {
  await using server = startGuardedServer();
  const bob = await createTokenIssuer({ issuer: alice.issuer, kid: "k2" });
  await using gateway = await startReloadableGateway([
    guardedRoute(server, {
      issuer: alice.issuer,
      jwks: { inline: jwksOf(alice) },
    }),
  ]);

  assert.equal((await callMcp(gateway, await alice.sign())).status, 200);
  const { status, challenge } = await callMcp(gateway, await bob.sign());
  assert.equal(status, 401);
  assert.match(challenge ?? "", /token key is unknown/);
});

Deno.test("keys in a file are read again for a key that is missing, and kept while the file is invalid or missing", async () => {
  const folder = await Deno.makeTempDir();
  const file = join(folder, "keys.json");
  await Deno.writeTextFile(file, jwksOf(alice));
  const bob = await createTokenIssuer({ issuer: alice.issuer, kid: "k2" });
  const clock = new FakeClock();
  const exp = clock.now() / 1000 + 86_400;
  const ofAlice = await alice.sign({ exp });
  const ofBob = await bob.sign({ exp });
  await using server = startGuardedServer();
  await using gateway = await startReloadableGateway([
    guardedRoute(server, { issuer: alice.issuer, jwks: { file } }),
  ], { clock });
  const call = async (token: string) => (await callMcp(gateway, token)).status;
  assert.deepEqual([await call(ofAlice), await call(ofBob)], [200, 401]);

  await Deno.writeTextFile(file, jwksOf(alice, bob));
  clock.advance(10_000);
  assert.equal(await call(ofBob), 200);

  await Deno.writeTextFile(file, "{");
  clock.advance(90_000);
  assert.deepEqual([await call(ofAlice), await call(ofBob)], [200, 200]);
  await Deno.remove(file);
  clock.advance(90_000);
  assert.deepEqual([await call(ofAlice), await call(ofBob)], [200, 200]);

  await Deno.writeTextFile(file, jwksOf(bob));
  clock.advance(600_000);
  assert.deepEqual([await call(ofAlice), await call(ofBob)], [401, 200]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a policy whose keys cannot be read from the configuration is an error, at the start and at a reload", async () => {
  await using server = startGuardedServer();
  const withKeys = (jwks: unknown) =>
    guardedRoute(server, { issuer: alice.issuer, jwks });
  const inline = jwksOf(alice);
  await using gateway = await startReloadableGateway([withKeys({ inline })]);
  const remote = { backendRef: { name: "nope" }, jwksPath: "/k" };

  for (
    const { jwks, message } of [
      { jwks: { inline: "{}" }, message: /expected {"keys": \[…\]}/ },
      {
        jwks: { file: "/nowhere/keys.json" },
        message: /\/nowhere\/keys\.json/,
      },
      { jwks: { remote }, message: /Cannot find backend "default\/nope"/ },
      { jwks: { inline, url: "http://a/" }, message: /jwks/ },
      { jwks: {}, message: /jwks/ },
    ]
  ) {
    await assert.rejects(startReloadableGateway([withKeys(jwks)]), message);
    assert.equal(await gateway.reload([withKeys(jwks)]), false);
  }
  assert.equal((await callMcp(gateway, await alice.sign())).status, 200);
  assert.equal((await callMcp(gateway)).status, 401);
});
