import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { readKeySet } from "../../../src/identity/keys/key_set.ts";
import { TokenVerifier } from "../../../src/identity/tokens/token_verifier.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";

const clock = new FakeClock();
const now = Math.floor(clock.now() / 1000);
const audience = "https://gw.example/mcp";

const ours = await createTokenIssuer({ now: clock.now() });
const rsa = await createTokenIssuer({
  kid: "rsa",
  alg: "RS256",
  now: clock.now(),
});
const otherIssuer = await createTokenIssuer({ now: clock.now() });
const other = await createTokenIssuer({
  issuer: "https://other.example/",
  kid: "k2",
  now: clock.now(),
});
const ourKeys = await readKeySet(jwksOf(ours, rsa));
const otherKeys = await readKeySet(jwksOf(other));

const verifier = new TokenVerifier({
  providers: [
    {
      issuer: ours.issuer,
      audiences: [audience, "second"],
      keys: { get: () => ourKeys, newer: () => Promise.resolve(ourKeys) },
    },
    {
      issuer: other.issuer,
      audiences: [audience],
      keys: { get: () => otherKeys, newer: () => Promise.resolve(otherKeys) },
    },
  ],
  clockSkewMs: 60_000,
  clock,
});

function base64(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return new TextEncoder().encode(text).toBase64({
    alphabet: "base64url",
    omitPadding: true,
  });
}

const good = await ours.sign();
const [head = "", payload = "", signature = ""] = good.split(".");
const claims = { iss: ours.issuer, aud: audience, sub: "user", exp: now + 300 };
const { publicKey, privateKey } = await generateKeyPair("RS256");
const embedded = await new SignJWT(claims).setProtectedHeader({
  alg: "RS256",
  kid: "rsa",
  jwk: await exportJWK(publicKey),
}).sign(privateKey);

function forged(header: unknown, body: unknown = claims, tail = signature) {
  return `${base64(header)}.${base64(body)}.${tail}`;
}

function hmac(secret: string, header: object): string {
  const text = `${base64(header)}.${base64(claims)}`;
  return `${text}.${
    createHmac("sha256", secret).update(text).digest("base64url")
  }`;
}

function nested(depth: number): unknown {
  return depth === 0 ? 1 : { a: nested(depth - 1) };
}

const weakAlgorithms = [
  ...["none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "hs256"],
  ...[
    "RS1",
    "RSA-OAEP",
    "dir",
    "ES256K",
    "es256",
    "ES256 ",
    "EdDSA ",
    "A128KW",
  ],
  ...[null, 1, true, ["ES256"], { name: "ES256" }, "__proto__", "constructor"],
];
const fitless = ["RS256", "RS384", "RS512", "PS256", "ES384", "ES512", "EdDSA"];
const badTimes = [
  null,
  "1",
  String(now + 300),
  true,
  [now + 300],
  {},
  -1,
  1e400,
];
const badAudiences = [
  ...[
    "other",
    "",
    "SECOND",
    `${audience}/`,
    audience.slice(0, -1),
    ` ${audience}`,
  ],
  ...[[], ["other"], [audience, 1], [[audience]], null, 1, true, {}],
];
const badIssuers = [
  ...["https://idp.example", "https://IDP.example/", "https://idp.example//"],
  ...["", " https://idp.example/", "__proto__", null, 1, [ours.issuer], {}],
];
const badCrit = [["exp"], ["b64"], [], ["x"], "exp", null, {}, 1];
const badKids = ["", "k2", "rsa", "../k1", "k1\0", "K1", "__proto__", 1, null, [
  "k1",
], {}];
const malformed = [
  ...[
    "a.b",
    "a.b.c",
    "..",
    ".",
    "...",
    `${good}.`,
    `.${good}`,
    `${good}.x`,
    ` ${good}`,
  ],
  ...[
    `${head}.${payload}.`,
    `${head}..${signature}`,
    `.${payload}.${signature}`,
  ],
  ...[`${head}=.${payload}.${signature}`, `${good}=`, `${good}==`, `${good}A`],
  ...[
    good.replace(".", "+."),
    good.replace(".", "/."),
    `${good}\n`,
    good.slice(0, -2),
  ],
  ...[
    `${head}.${payload}.${signature}.${signature}.${signature}`,
    "opaque",
    "é.é.é",
  ],
  ...[forged("{"), forged("[]"), forged("null"), forged('"x"'), forged("1")],
  ...[
    forged({ alg: "ES256", kid: "k1" }, "{"),
    forged({ alg: "ES256", kid: "k1" }, "[]"),
  ],
  `${new Uint8Array([0xff, 0xfe]).toBase64()}.${payload}.${signature}`,
];

const attacks: Record<string, string> = {
  "unsigned": forged({ alg: "none" }, claims, ""),
  "payload of another token": `${head}.${
    base64({ ...claims, sub: "admin" })
  }.${signature}`,
  "all-zero signature": `${head}.${payload}.${base64("\0".repeat(64))}`,
  "empty DER signature": `${head}.${payload}.${base64("0\0")}`,
  "key of another issuer": await otherIssuer.sign(),
  "embedded key": embedded,
  "key by URL": await otherIssuer.sign({}, {
    jku: "https://evil.example/jwks",
  }),
  "certificate by URL": await otherIssuer.sign({}, {
    x5u: "https://evil.example",
  }),
  "embedded certificate": await otherIssuer.sign({}, { x5c: ["MII"] }),
  "kid of another provider": await other.sign({ iss: ours.issuer }),
  "issuer of another provider": await ours.sign({ iss: other.issuer }),
  "public key as secret": hmac(await exportSPKI(publicKey), {
    alg: "HS256",
    kid: "rsa",
  }),
  "empty secret": hmac("", { alg: "HS256", kid: "k1" }),
  "no algorithm": forged({ kid: "k1" }),
  "no expiry": await ours.sign({ exp: undefined }),
  "no audience": await ours.sign({ aud: undefined }),
  "no issuer": await ours.sign({ iss: undefined }),
  "expired": await ours.sign({ exp: now - 61 }),
  "expired just now": await ours.sign({ exp: now - 60 }),
  "not valid yet": await ours.sign({ nbf: now + 61 }),
  "issued in the future": await ours.sign({ iat: now + 61 }),
  "type of a DPoP proof": await ours.sign({}, { typ: "dpop+jwt" }),
  "type of a logout token": await ours.sign({}, { typ: "logout+jwt" }),
  "type that is not a string": await ours.sign({}, { typ: 1 }),
  "nested token": await ours.sign({}, { cty: "JWT" }),
  "unencoded payload": await ours.sign({}, { b64: true }),
  "too deep": await ours.sign({ x: nested(40) }),
  "too long": await ours.sign({ x: "a".repeat(16 * 1024) }),
  "thousand-fold nesting": forged(
    { alg: "ES256", kid: "k1" },
    `${"[".repeat(5000)}${"]".repeat(5000)}`,
  ),
};
for (const alg of weakAlgorithms) {
  attacks[`algorithm ${JSON.stringify(alg)}`] = forged({ alg, kid: "k1" });
}
for (const alg of fitless) {
  attacks[`ES256 key with ${alg}`] = forged({ alg, kid: "k1" });
}
for (const exp of badTimes) {
  attacks[`expiry ${JSON.stringify(exp)}`] = await ours.sign({ exp });
}
for (const aud of badAudiences) {
  attacks[`audience ${JSON.stringify(aud)}`] = await ours.sign({ aud });
}
for (const iss of badIssuers) {
  attacks[`issuer ${JSON.stringify(iss)}`] = await ours.sign({ iss });
}
for (const crit of badCrit) {
  attacks[`crit ${JSON.stringify(crit)}`] = forged({
    alg: "ES256",
    kid: "k1",
    crit,
  });
}
for (const kid of badKids) {
  attacks[`kid ${JSON.stringify(kid)}`] = forged({ alg: "ES256", kid });
}
for (const [index, text] of malformed.entries()) {
  attacks[`malformed ${index}`] = text;
}

Deno.test("there are at least ninety attack tokens", () => {
  assert(Object.keys(attacks).length >= 90, `${Object.keys(attacks).length}`);
});

for (const [name, token] of Object.entries(attacks)) {
  Deno.test(`a token is rejected: ${name}`, async () => {
    await assert.rejects(Promise.resolve(verifier.verify(token)), {
      name: "TokenError",
    });
  });
}

Deno.test("valid tokens are accepted", async () => {
  const tokens = [
    good,
    await ours.sign({ aud: ["x", "second"] }),
    await ours.sign({ exp: now - 59, nbf: now + 59, iat: now + 59 }),
    await ours.sign({}, { typ: "at+jwt" }),
    await ours.sign({}, { typ: "application/AT+JWT" }),
    await ours.sign({}, { kid: undefined }),
    await rsa.sign(),
    await other.sign(),
  ];
  for (const token of tokens) {
    assert.equal((await verifier.verify(token)).sub, "user");
  }
});

Deno.test("a token is cached by its exact text, until it expires", async () => {
  const token = await ours.sign({ sub: "remembered", exp: now + 10 });
  const first = await verifier.verify(token);

  assert.equal(verifier.verify(token), first);
  clock.advance(71_000);
  await assert.rejects(Promise.resolve(verifier.verify(token)), {
    message: "token has expired",
  });
});

Deno.test("a claim named __proto__ is an ordinary claim", async () => {
  const text = `{"iss":"${ours.issuer}","__proto__":{"admin":true}}`;
  const parsed = JSON.parse(text) as object;

  assert.equal(Object.getPrototypeOf(parsed), Object.prototype);
  assert(Object.hasOwn(parsed, "__proto__"));
  const token = await ours.sign({ permissions: null });
  assert.equal((await verifier.verify(token)).admin, undefined);
});
