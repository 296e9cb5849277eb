import { createHash } from "node:crypto";
import {
  calculateJwkThumbprint,
  CompactSign,
  exportJWK,
  generateKeyPair,
  type JWK,
} from "jose";

/** Claims and header of a proof in place of the usual ones; `undefined` leaves one out. */
export interface ProofChanges {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
}

/** A client with a key for DPoP proofs (RFC 9449). */
export interface DpopClient {
  readonly jwk: JWK;
  /** Claim `cnf` of its tokens. */
  readonly cnf: { readonly jkt: string };
  /** Signs a proof for `GET` of a URL with a token. */
  prove(url: string, token: string, changes?: ProofChanges): Promise<string>;
}

/** Creates a client with a new key. */
export async function createDpopClient(alg = "ES256"): Promise<DpopClient> {
  const { publicKey, privateKey } = await generateKeyPair(alg, {
    extractable: true,
  });
  const jwk = await exportJWK(publicKey);
  return {
    jwk,
    cnf: { jkt: await calculateJwkThumbprint(jwk) },
    prove(url, token, { claims = {}, header = {} } = {}) {
      const payload = {
        htm: "GET",
        htu: url,
        iat: Math.floor(Date.now() / 1000),
        jti: crypto.randomUUID(),
        ath: createHash("sha256").update(token).digest("base64url"),
        ...claims,
      };
      return new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
        .setProtectedHeader({ alg, typ: "dpop+jwt", jwk, ...header })
        .sign(privateKey);
    },
  };
}
