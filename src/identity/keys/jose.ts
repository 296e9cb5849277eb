/** The only file that imports jose: imports keys, verifies signatures, and reads tokens. */
import type * as Jose from "jose";

/** A public key in JWK format, without optional members (RFC 7517, RFC 8037). */
export interface PublicJwk {
  readonly kty: "RSA" | "EC" | "OKP";
  readonly crv?: string;
  readonly n?: string;
  readonly e?: string;
  readonly x?: string;
  readonly y?: string;
}

/** A key that is imported to verify signatures of one algorithm. */
export type VerificationKey = Awaited<ReturnType<typeof Jose.importJWK>>;

/** Imports a key. @throws When it is invalid. */
export async function importKey(
  jwk: PublicJwk,
  algorithm: string,
): Promise<VerificationKey> {
  const { importJWK } = await loadJose();
  return await importJWK({ ...jwk }, algorithm);
}

let jose: Promise<typeof Jose> | undefined;

/** Loads jose with the first key: many gateways verify no tokens. */
function loadJose(): Promise<typeof Jose> {
  return jose ??= import("jose");
}

/** Reports whether the owner of `key` signed the compact JWS with `algorithm`. */
export async function isSignedBy(
  token: string,
  key: VerificationKey,
  algorithm: string,
): Promise<boolean> {
  const { compactVerify } = await loadJose();
  try {
    await compactVerify(token, key, { algorithms: [algorithm] });
    return true;
  } catch {
    // Whatever the error, the signature is not proven.
    return false;
  }
}

/** Returns the SHA-256 thumbprint of a public key (RFC 7638), as base64url. */
export async function thumbprintOfKey(key: PublicJwk): Promise<string> {
  const { calculateJwkThumbprint } = await loadJose();
  return await calculateJwkThumbprint({ ...key }, "sha256");
}

/** Imports a private key that signs with one algorithm. @param pem PKCS #8. @throws When it is invalid. */
export async function importPrivateKey(
  pem: string,
  algorithm: string,
): Promise<Awaited<ReturnType<typeof Jose.importPKCS8>>> {
  const { importPKCS8 } = await loadJose();
  return await importPKCS8(pem, algorithm);
}

/** Reads the claims of a JWT without a check of its signature; `undefined` if it is none. */
export async function readClaims(
  token: string,
): Promise<Jose.JWTPayload | undefined> {
  const { decodeJwt } = await loadJose();
  try {
    return decodeJwt(token);
  } catch {
    // An opaque token.
    return undefined;
  }
}
