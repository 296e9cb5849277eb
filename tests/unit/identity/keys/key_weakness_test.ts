import assert from "node:assert/strict";
import type { JWK } from "jose";
import { readKeySet } from "../../../../src/identity/keys/key_set.ts";
import { createTokenIssuer } from "../../../harness/login/tokens.ts";

const good = await createTokenIssuer({ kid: "good" });
const rsa = (await createTokenIssuer({ alg: "RS256" })).jwk;

/** Flips a bit of a number. */
function flipped(number: string | undefined, byte: number, bit: number) {
  const bytes = Uint8Array.fromBase64(number ?? "", { alphabet: "base64url" });
  const at = bytes.at(byte) ?? 0;
  bytes[byte < 0 ? bytes.length + byte : byte] = at ^ bit;
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

const cases: [string, JWK, string][] = [];
for (const alg of ["ES256", "ES384", "ES512"]) {
  const { jwk } = await createTokenIssuer({ alg });
  const moved = { ...jwk, y: flipped(jwk.y, -1, 1) };
  cases.push([`${alg} off the curve`, moved, "point is not on its curve"]);
}
const exponent = "exponent is not an odd number from 3 to 2^32";
cases.push(
  ["point without y", { ...good.jwk, y: "" }, "point is not on its curve"],
  ["even modulus", { ...rsa, n: flipped(rsa.n, -1, 1) }, "modulus is even"],
  [
    "modulus of 2047 bits",
    { ...rsa, n: flipped(rsa.n, 0, 128) },
    "modulus has fewer than 2048 bits",
  ],
  [
    "modulus of 1024 bits behind zeros",
    { ...rsa, n: "A".repeat(171) + "__".repeat(85) + "8" },
    "modulus has fewer than 2048 bits",
  ],
  [
    "modulus of 16384 bits",
    { ...rsa, n: "_".repeat(2730) + "w" },
    "modulus has more than 8192 bits",
  ],
  ["modulus that is not base64", { ...rsa, n: "!" }, "modulus is not a number"],
  ["exponent 1", { ...rsa, e: "AQ" }, exponent],
  ["even exponent", { ...rsa, e: "AQAC" }, exponent],
  ["huge exponent", { ...rsa, e: "AQAAAAAB" }, exponent],
  ["empty exponent", { ...rsa, e: "" }, "exponent is not a number"],
);
for (const [name, jwk, reason] of cases) {
  Deno.test(`a key set ignores a key individually: ${name}`, async () => {
    const bad = { ...jwk, kid: "bad" };
    const set = await readKeySet(JSON.stringify({ keys: [bad, good.jwk] }));

    assert.deepEqual(set.keys.map(({ kid }) => kid), ["good"]);
    assert.deepEqual(set.ignored, [`"bad": ${reason}`]);
  });
}

Deno.test("a key set accepts RSA keys with exponents 3 and 65537", async () => {
  const keys = ["Aw", "AQAB"].map((e) => ({ ...rsa, e, kid: e }));
  const set = await readKeySet(JSON.stringify({ keys }));

  assert.deepEqual(set.ignored, []);
});
