import { createPublicKey } from "node:crypto";
import type { PublicJwk } from "./jose.ts";

/** Minimum of RFC 7518 section 3.3. */
const MIN_MODULUS_BITS = 2048;
/** Longer moduli only slow verification down. */
const MAX_MODULUS_BITS = 8192;
const MAX_EXPONENT = 2n ** 32n;

/** Describes a numeric weakness of a key, such as `modulus is even`; importing a key does not detect them. */
export function weaknessOf(jwk: PublicJwk): string | undefined {
  switch (jwk.kty) {
    case "EC":
      return isOnCurve(jwk) ? undefined : "point is not on its curve";
    case "RSA":
      return rsaWeakness(numberOf(jwk.n), numberOf(jwk.e));
    case "OKP":
      return undefined;
  }
}

function isOnCurve({ kty, crv = "", x = "", y = "" }: PublicJwk): boolean {
  try {
    createPublicKey({ key: { kty, crv, x, y }, format: "jwk" });
    return true;
  } catch {
    return false;
  }
}

function rsaWeakness(
  modulus: bigint | undefined,
  exponent: bigint | undefined,
): string | undefined {
  if (modulus === undefined) return "modulus is not a number";
  if (exponent === undefined) return "exponent is not a number";
  const bits = modulus.toString(2).length;
  if (bits < MIN_MODULUS_BITS) {
    return `modulus has fewer than ${MIN_MODULUS_BITS} bits`;
  }
  if (bits > MAX_MODULUS_BITS) {
    return `modulus has more than ${MAX_MODULUS_BITS} bits`;
  }
  if (modulus % 2n === 0n) return "modulus is even";
  if (exponent < 3n || exponent > MAX_EXPONENT || exponent % 2n === 0n) {
    return "exponent is not an odd number from 3 to 2^32";
  }
  return isFactorable(modulus) ? "modulus can be factored (ROCA)" : undefined;
}

function numberOf(base64: string | undefined): bigint | undefined {
  try {
    const bytes = Uint8Array.fromBase64(base64 ?? "", {
      alphabet: "base64url",
    });
    return bytes.length === 0 ? undefined : BigInt(`0x${bytes.toHex()}`);
  } catch {
    return undefined;
  }
}

// deno-fmt-ignore
const fingerprintPrimes = [
  11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157,
];

/**
 * Reports whether a flawed chip generated the modulus (ROCA, CVE-2017-15361): it is then a power of 65537 modulo every small
 * prime. The false-positive rate is 2^-27.
 */
function isFactorable(modulus: bigint): boolean {
  return fingerprintPrimes.every((prime) => {
    const residue = Number(modulus % BigInt(prime));
    let power = 1;
    do {
      if (power === residue) return true;
      power = power * 65537 % prime;
    } while (power !== 1);
    return false;
  });
}
