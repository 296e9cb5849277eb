/** Creates a private RS256 key with a unique ID. */
export async function createSigningKey(): Promise<
  JsonWebKey & { kid: string }
> {
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
  const { key_ops: _, ext: __, ...key } = await crypto.subtle.exportKey(
    "jwk",
    privateKey,
  );
  return { ...key, kid: crypto.randomUUID(), use: "sig", alg: "RS256" };
}
