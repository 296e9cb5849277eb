/** The only file that knows jose: imports public keys and verifies signatures. */
import { compactVerify, importJWK } from "jose";

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
export type VerificationKey = Awaited<ReturnType<typeof importJWK>>;

/** Makes a key ready. @throws When it is none. */
export function importKey(
  jwk: PublicJwk,
  algorithm: string,
): Promise<VerificationKey> {
  return importJWK({ ...jwk }, algorithm);
}

/** Whether the compact JWS was signed with `algorithm` by the owner of `key`. */
export async function isSignedBy(
  token: string,
  key: VerificationKey,
  algorithm: string,
): Promise<boolean> {
  try {
    await compactVerify(token, key, { algorithms: [algorithm] });
    return true;
  } catch {
    // Whatever went wrong: nothing is proven.
    return false;
  }
}
