import { createPrivateKey, type KeyObject } from "node:crypto";

/** Algorithms by type and curve of a key; the first one is the default. */
const algorithmsOf: ReadonlyMap<string, readonly string[]> = new Map([
  ["rsa", ["RS256", "PS256"]],
  ["ec prime256v1", ["ES256"]],
  ["ec secp384r1", ["ES384"]],
  ["ec secp521r1", ["ES512"]],
  ["ed25519", ["EdDSA"]],
]);

/** Reads a private key of any PEM form. @throws {TypeError} When it cannot sign with the algorithm; the message does not show it. */
export function readPrivateKey(
  text: string,
  algorithm: string | undefined,
): { readonly pem: string; readonly algorithm: string } {
  const key = parsePrivateKey(text);
  const { asymmetricKeyType = "", asymmetricKeyDetails } = key;
  const curve = asymmetricKeyDetails?.namedCurve ?? "";
  const algorithms = algorithmsOf.get(`${asymmetricKeyType} ${curve}`.trim()) ??
    [];
  const chosen = algorithm ?? algorithms[0];
  if (chosen === undefined || !algorithms.includes(chosen)) {
    throw new TypeError(
      `a key of type "${asymmetricKeyType}" cannot sign with ${
        chosen ?? "a supported algorithm"
      }`,
    );
  }
  const pem = key.export({ type: "pkcs8", format: "pem" }).toString();
  return { pem, algorithm: chosen };
}

function parsePrivateKey(text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch {
    // The error may quote the text.
    throw new TypeError("it is no private key in PEM");
  }
}
