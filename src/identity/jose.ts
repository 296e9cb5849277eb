/** The only file that knows jose: imports public keys and verifies signatures. */
import type * as Jose from "jose";

/** A public key as JWKS documents spell it, reduced to what identifies it (RFC 7517, RFC 8037). */
export interface PublicJwk {
  readonly kty: "RSA" | "EC" | "OKP";
  readonly crv?: string;
  readonly n?: string;
  readonly e?: string;
  readonly x?: string;
  readonly y?: string;
}

/** A key that is ready to verify signatures of one algorithm. */
export type VerificationKey = Awaited<ReturnType<typeof Jose.importJWK>>;

/** Makes a key ready. @throws When it is none. */
export async function importKey(
  jwk: PublicJwk,
  algorithm: string,
): Promise<VerificationKey> {
  const { importJWK } = await loadJose();
  return await importJWK({ ...jwk }, algorithm);
}

let jose: Promise<typeof Jose> | undefined;

/** With the first key: many gateways verify no token. */
function loadJose(): Promise<typeof Jose> {
  return jose ??= import("jose");
}

/** Whether the compact JWS was signed with `algorithm` by the owner of `key`. */
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
    // Whatever went wrong: nothing is proven.
    return false;
  }
}
