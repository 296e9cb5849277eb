import assert from "node:assert/strict";
import { describeError } from "../../../src/base/errors.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { readKeySet } from "../../../src/identity/keys/key_set.ts";
import { TokenError } from "../../../src/identity/tokens/token.ts";
import { TokenVerifier } from "../../../src/identity/tokens/token_verifier.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";

const clock = new FakeClock();
const now = clock.now() / 1000;
const issuer = await createTokenIssuer({ now: clock.now() });
const second = await createTokenIssuer({ kid: "k2", now: clock.now() });
const keys = await readKeySet(jwksOf(issuer, second));
const source = { get: () => keys, newer: () => Promise.resolve(keys) };

/** Returns the messages for client and log when a token with these claims is rejected. */
async function reject(
  claims: JsonObject,
  { audiences = ["https://b"], issuers = [issuer.issuer], kid = "k1" } = {},
): Promise<{ client: string; log: string }> {
  const verifier = new TokenVerifier({
    providers: issuers.map((issuer) => ({ issuer, audiences, keys: source })),
    clockSkewMs: 60_000,
    clock,
  });
  const token = await issuer.sign({ aud: "https://b", ...claims }, { kid });
  try {
    await verifier.verify(token);
  } catch (error) {
    assert(error instanceof TokenError);
    return { client: error.message, log: describeError(error) };
  }
  assert.fail("accepted");
}

const cases: {
  readonly claims: JsonObject;
  readonly options?: Parameters<typeof reject>[1];
  readonly client: string;
  readonly log: string;
}[] = [
  {
    claims: { aud: "https://a" },
    client: "token audience is not accepted",
    log: 'has "https://a", expected "https://b"',
  },
  {
    claims: { aud: ["a", "b", "c", "d", "e"] },
    options: { audiences: ["x", "y"] },
    client: "token audience is not accepted",
    log: 'has "a", "b", "c" and 2 more, expected one of "x", "y"',
  },
  {
    claims: { aud: [] },
    client: "token audience is not accepted",
    log: 'has nothing, expected "https://b"',
  },
  {
    claims: { aud: undefined },
    client: "token has no audience",
    log: 'has no aud claim, expected "https://b"',
  },
  {
    claims: { iss: "https://evil.example" },
    client: "token issuer is not accepted",
    log:
      'has unverified issuer "https://evil.example", expected "https://idp.example/"',
  },
  {
    claims: {},
    options: { kid: "k9" },
    client: "token key is unknown",
    log: 'has unverified key id "k9", expected one of "k1", "k2"',
  },
  {
    claims: { exp: now - 312 },
    client: "token has expired",
    log: "2025-12-31T23:54:48Z, 312 s ago",
  },
  {
    claims: { nbf: now + 90 },
    client: "token is not valid yet",
    log: "2026-01-01T00:01:30Z, in 90 s",
  },
  {
    claims: { iat: now + 61.5 },
    client: "token is issued in the future",
    log: "2026-01-01T00:01:01Z, in 62 s",
  },
  {
    claims: { iat: 1e15 },
    client: "token is issued in the future",
    log: `in ${1e15 - now} s`,
  },
];
for (const { claims, options, client, log } of cases) {
  Deno.test(`only the log shows values of ${JSON.stringify(claims)}: ${log}`, async () => {
    assert.deepEqual(await reject(claims, options), {
      client,
      log: `${client}: ${log}`,
    });
  });
}

for (const claim of ["aud", "iss"]) {
  Deno.test(`a hostile ${claim} cannot flood the log or control a terminal`, async () => {
    const hostile = '"\x1b[2J\n\u202e\u0085' + "x".repeat(10_000);

    const { client, log } = await reject({ [claim]: hostile });

    assert(log.includes(String.raw`"\"\u001b[2J\n\u202e\u0085xxx`), log);
    assert(log.length < 500, `${log.length}`);
    assert.doesNotMatch(log, /[\p{Cc}\p{Cf}]/u);
    assert.doesNotMatch(client, /xxx/);
  });
}

for (const iss of [7, ["https://idp.example/"], null]) {
  Deno.test(`an issuer that is not a string is rejected: ${JSON.stringify(iss)}`, async () => {
    assert.equal((await reject({ iss })).log, "token issuer is not a string");
  });
}
