import { exportJWK, generateKeyPair, type JWK } from "jose";

/** Creates a private RS256 key with a unique ID. */
export async function createSigningKey(): Promise<JWK & { kid: string }> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const key = await exportJWK(privateKey);
  return { ...key, kid: crypto.randomUUID(), use: "sig", alg: "RS256" };
}
