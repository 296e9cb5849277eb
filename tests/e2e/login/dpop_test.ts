import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  createDpopClient,
  type DpopClient,
  type ProofChanges,
} from "../../harness/login/dpop.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";
import { startGuardedServer } from "../../harness/servers/guarded_server.ts";

/** Starts a gateway in front of a server, for tokens that may be bound to a key. */
async function setUp(
  tokenBinding?: Readonly<Record<string, unknown>>,
  { config, mcp = {}, rules = ["jwt.sub == 'user'"], policies }: {
    readonly config?: Readonly<Record<string, unknown>>;
    readonly mcp?: Readonly<Record<string, unknown>> | undefined;
    readonly rules?: readonly string[];
    readonly policies?: (jwt: unknown) => unknown;
  } = {},
) {
  await using opening = new AsyncDisposableStack();
  const idp = await createTokenIssuer();
  const client = await createDpopClient();
  const server = opening.use(startGuardedServer());
  const jwtAuthentication = {
    providers: [{
      issuer: idp.issuer,
      audiences: ["https://gw.example/mcp"],
      jwks: { inline: jwksOf(idp) },
    }],
    ...(tokenBinding && { tokenBinding }),
  };
  const gateway = opening.use(
    await startTestGateway({
      ...(config && { config }),
      ...(policies && { policies: policies(jwtAuthentication) }),
      routes: [{
        name: "mcp",
        matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
        policies: {
          jwtAuthentication: { ...jwtAuthentication, mcp },
          authorization: { policy: { matchExpressions: rules } },
        },
        backends: [{ host: server.host }],
      }],
    }),
  );
  const url = `${gateway.origin}/mcp`;
  const open = opening.move();
  return {
    idp,
    client,
    gateway,
    server,
    url,
    bound: await idp.sign({ cnf: client.cnf }),
    send: async (
      authorization: string,
      proof?: string,
      target = url,
    ): Promise<Response> => {
      const headers = { authorization, ...(proof && { dpop: proof }) };
      const response = await fetch(target, { headers });
      await response.body?.cancel();
      return response;
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function challengeOf({ headers }: Response): string {
  return headers.get("www-authenticate") ?? "";
}

for (const alg of ["ES256", "ES384", "EdDSA", "RS256", "PS256"]) {
  Deno.test(`a bound token is accepted with a proof of its key (${alg}), and neither goes to the server`, async () => {
    await using site = await setUp();
    const client = await createDpopClient(alg);
    const token = await site.idp.sign({ cnf: client.cnf });

    const { status } = await site.send(
      `DPoP ${token}`,
      await client.prove(`${site.url}?a=1`, token),
      `${site.url}?b=2`,
    );

    assert.equal(status, 200);
    assert.deepEqual(site.server.reached, [null]);
  });
}

const now = Math.floor(Date.now() / 1000);

/** Proofs that a gateway has to reject, by the reason. */
const forgeries: Readonly<
  Record<string, ProofChanges | ((client: DpopClient) => ProofChanges)>
> = {
  "another method": { claims: { htm: "POST" } },
  "a method in lower case": { claims: { htm: "get" } },
  "no method": { claims: { htm: undefined } },
  "another path": { claims: { htu: "http://127.0.0.1/other" } },
  "another host": { claims: { htu: "https://evil.example/mcp" } },
  "no URL": { claims: { htu: undefined } },
  "another token": { claims: { ath: "x".repeat(43) } },
  "no token": { claims: { ath: undefined } },
  "no jti": { claims: { jti: undefined } },
  "a long jti": { claims: { jti: "x".repeat(2000) } },
  "no iat": { claims: { iat: undefined } },
  "an old iat": { claims: { iat: now - 300 } },
  "an iat in the future": { claims: { iat: now + 300 } },
  "an iat that is a string": { claims: { iat: String(now) } },
  "another type": { header: { typ: "JWT" } },
  "no type": { header: { typ: undefined } },
  "no key": { header: { jwk: undefined } },
  "a private key": ({ jwk }) => ({ header: { jwk: { ...jwk, d: jwk.x } } }),
  "a symmetric key": { header: { jwk: { kty: "oct", k: "c2VjcmV0" } } },
  "a critical extension": ({ jwk }) => ({
    header: { jwk, crit: ["exp"], exp: 1 },
  }),
  "a nonce that is a number": { claims: { nonce: 5 } },
};

for (const [name, changes] of Object.entries(forgeries)) {
  Deno.test(`a proof with ${name} is rejected`, async () => {
    await using site = await setUp();
    const { client, bound, url } = site;
    const own = typeof changes === "function" ? changes(client) : changes;
    const proof = await client.prove(url, bound, own).catch(() => "x.y.z");

    const response = await site.send(`DPoP ${bound}`, proof);

    assert.equal(response.status, 401);
    assert.match(
      challengeOf(response),
      /^DPoP .*error="invalid_dpop_proof".*algs="[^"]*ES256/,
    );
    assert.equal(site.server.reached.length, 0);
  });
}

Deno.test("a proof of another key, with a forged signature or a public HMAC key is rejected", async () => {
  await using site = await setUp();
  const { client, bound, url } = site;
  const thief = await createDpopClient();
  const [head = "", payload = "", signature = ""] =
    (await client.prove(url, bound)).split(".");
  const tampered = btoa(JSON.stringify({ htm: "GET" })).replaceAll("=", "");
  const proofs = [
    await thief.prove(url, bound),
    // The key of the token, signed with that of the thief.
    await thief.prove(url, bound, { header: { jwk: client.jwk } }),
    [head, tampered, signature].join("."),
    [head, payload, ""].join("."),
    "not a proof",
  ];

  for (const proof of proofs) {
    assert.equal((await site.send(`DPoP ${bound}`, proof)).status, 401);
  }
});

Deno.test("a request needs exactly one proof", async () => {
  await using site = await setUp();
  const { client, bound, url } = site;
  const headers = new Headers({ authorization: `DPoP ${bound}` });
  headers.append("dpop", await client.prove(url, bound));
  headers.append("dpop", await client.prove(url, bound));

  const two = await fetch(url, { headers });
  await two.body?.cancel();
  const none = await site.send(`DPoP ${bound}`);

  assert.deepEqual([two.status, none.status], [401, 401]);
});

Deno.test("a bound token is no bearer token, and a bearer token needs no proof", async () => {
  await using site = await setUp();
  const { client, bound, url, idp } = site;
  const bearer = await idp.sign();

  const stolen = await site.send(`Bearer ${bound}`);
  const withProof = await site.send(
    `Bearer ${bound}`,
    await client.prove(url, bound),
  );
  const unbound = await site.send(
    `DPoP ${bearer}`,
    await client.prove(url, bearer),
  );
  const usual = await site.send(`Bearer ${bearer}`);
  const odd = await site.send(
    `Bearer ${await idp.sign({ cnf: { kid: "k" } })}`,
  );

  assert.deepEqual(
    [stolen, withProof, unbound, usual, odd].map(({ status }) => status),
    [401, 401, 401, 200, 401],
  );
  assert.match(challengeOf(stolen), /^DPoP .*error="invalid_token"/);
});

for (
  const [place, config] of [
    ["one process", { workers: 1 }],
    ["two workers", { workers: 2 }],
  ] as const
) {
  Deno.test(`a proof is accepted once in ${place}`, async () => {
    await using site = await setUp(undefined, { config });
    const { client, bound, url } = site;
    const proof = await client.prove(url, bound);

    const statuses = await Promise.all(
      Array.from({ length: 12 }, () => site.send(`DPoP ${bound}`, proof)),
    );

    const accepted = statuses.filter(({ status }) => status === 200);
    assert.equal(accepted.length, 1);
  });
}

Deno.test("replicas with a common store share the memory of proofs", async () => {
  const directory = await Deno.makeTempDir();
  const config = { kv: { path: `${directory}/replicas.db` } };
  try {
    const mcp = { resourceMetadata: { resource: "http://gw.example/mcp" } };
    await using a = await setUp(undefined, { config, mcp });
    await using b = await setUp(undefined, { config, mcp });
    const client = await createDpopClient();
    const [atA, atB] = [
      await a.idp.sign({ cnf: client.cnf }),
      await b.idp.sign({ cnf: client.cnf }),
    ];
    const jti = "shared";
    const prove = (token: string) =>
      client.prove("http://gw.example/mcp", token, { claims: { jti } });

    const first = await a.send(`DPoP ${atA}`, await prove(atA));
    const second = await b.send(`DPoP ${atB}`, await prove(atB));

    assert.deepEqual([first.status, second.status], [200, 401]);
    assert.match(challengeOf(second), /used before/);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("with nonces, a client gets one in a challenge and uses it", async () => {
  await using site = await setUp({ nonce: true });
  const { client, bound, url } = site;

  const first = await site.send(
    `DPoP ${bound}`,
    await client.prove(url, bound),
  );
  const nonce = first.headers.get("dpop-nonce");
  const second = await site.send(
    `DPoP ${bound}`,
    await client.prove(url, bound, { claims: { nonce } }),
  );
  const forged = await site.send(
    `DPoP ${bound}`,
    await client.prove(url, bound, { claims: { nonce: "x".repeat(43) } }),
  );

  assert.equal(first.status, 401);
  assert.match(challengeOf(first), /^DPoP .*error="use_dpop_nonce"/);
  assert.ok(nonce);
  assert.equal(second.status, 200);
  assert.equal(forged.status, 401);
});

Deno.test("a mode Required challenges for both, and rejects tokens that are not bound", async () => {
  await using site = await setUp({ mode: "Required" });

  const none = await fetch(site.url);
  await none.body?.cancel();
  const metadata = await fetch(
    `${site.gateway.origin}/.well-known/oauth-protected-resource/mcp`,
  ).then((response) => response.json());
  const bearer = await site.send(`Bearer ${await site.idp.sign()}`);

  assert.match(challengeOf(none), /^Bearer resource_metadata=.*, DPoP /);
  assert.equal(bearer.status, 401);
  assert.equal(metadata["dpop_bound_access_tokens_required"], true);
  assert.ok(metadata["dpop_signing_alg_values_supported"].includes("ES256"));
});

Deno.test("a mode Ignore accepts bound tokens as others", async () => {
  await using site = await setUp({ mode: "Ignore" });

  assert.equal((await site.send(`Bearer ${site.bound}`)).status, 200);
});

Deno.test("policies of gateway and route check the same proof once", async () => {
  await using site = await setUp(undefined, {
    policies: (jwtAuthentication) => [{
      name: "door",
      targetRefs: [{ kind: "Gateway", name: "default" }],
      phase: "PreRouting",
      traffic: { jwtAuthentication },
    }],
  });
  const { client, bound, url } = site;
  const proof = await client.prove(url, bound);

  const first = await site.send(`DPoP ${bound}`, proof);
  const again = await site.send(`DPoP ${bound}`, proof);

  assert.deepEqual([first.status, again.status], [200, 401]);
});

Deno.test("a bound token without a scope that a rule demands gets a DPoP challenge", async () => {
  await using site = await setUp(undefined, {
    rules: ["'write' in jwt.scope.split(' ')"],
  });
  const { client, idp, url } = site;
  const token = await idp.sign({ cnf: client.cnf, scope: "read" });

  const response = await site.send(
    `DPoP ${token}`,
    await client.prove(url, token),
  );

  assert.equal(response.status, 403);
  assert.match(challengeOf(response), /^DPoP .*error="insufficient_scope"/);
});
