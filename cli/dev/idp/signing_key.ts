// @ts-types="@types/oidc-provider"
import type { JWK } from "oidc-provider";

/** Makes a new private RS256 key with an id nobody has seen. */
export async function createSigningKey(): Promise<JWK> {
  const { privateKey } = await crypto.subtle.generateKey(
    {
      name: "RSASSA-PKCS1-v1_5",
      modulusLength: 2048,
      publicExponent: Uint8Array.of(1, 0, 1),
      hash: "SHA-256",
    },
    true,
    ["sign", "verify"],
  );
  const { kty = "RSA", n, e, d, p, q, dp, dq, qi } = await crypto.subtle
    .exportKey("jwk", privateKey);
  const kid = crypto.randomUUID();
  return { kty, n, e, d, p, q, dp, dq, qi, kid, use: "sig", alg: "RS256" };
}
