import { CompactSign, exportJWK, generateKeyPair, type JWK } from "jose";

/** A provider of tokens for tests: a key and what it signs. */
export interface TokenIssuer {
  readonly issuer: string;
  /** The public key with its `kid`. */
  readonly jwk: JWK;
  /** A token with the usual claims, those given in place of them; `undefined` leaves one out. */
  sign(
    claims?: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
  ): Promise<string>;
}

/** Makes an issuer with a new key. */
export async function createTokenIssuer(
  {
    issuer = "https://idp.example/",
    kid = "k1",
    alg = "ES256",
    now,
  }: {
    readonly issuer?: string;
    readonly kid?: string;
    readonly alg?: string;
    /** Default: the time at which a token is signed. */
    readonly now?: number;
  } = {},
): Promise<TokenIssuer> {
  const { publicKey, privateKey } = await generateKeyPair(alg, {
    extractable: true,
  });
  return {
    issuer,
    jwk: { ...await exportJWK(publicKey), kid },
    sign(claims = {}, header = {}) {
      const payload = JSON.stringify({
        iss: issuer,
        aud: "https://gw.example/mcp",
        sub: "user",
        exp: Math.floor((now ?? Date.now()) / 1000) + 300,
        ...claims,
      });
      return new CompactSign(new TextEncoder().encode(payload))
        .setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
    },
  };
}

/** The JWKS document of those issuers. */
export function jwksOf(...issuers: readonly TokenIssuer[]): string {
  return JSON.stringify({ keys: issuers.map(({ jwk }) => jwk) });
}
