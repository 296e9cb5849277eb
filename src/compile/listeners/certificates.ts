import { createPrivateKey, X509Certificate } from "node:crypto";
import { describeError } from "../../base/errors.ts";
import type { Certificate } from "../../snapshot/snapshot.ts";

/** Reads a text file whose path is as it stands in the configuration; throws when it cannot. */
export type ReadFile = (path: string) => string;

/** The PEM text itself, or that of the file that `pathOrPem` names. @throws When the file cannot be read. */
export function loadPem(pathOrPem: string, readFile: ReadFile): string {
  if (isPem(pathOrPem)) return pathOrPem;
  try {
    return readFile(pathOrPem);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new TypeError(`no such file "${pathOrPem}"`);
  }
}

/** What messages call a PEM text: the file that it comes from, if it does. */
export function nameOfPem(pathOrPem: string): string {
  return isPem(pathOrPem) ? "the text" : `"${pathOrPem}"`;
}

function isPem(pathOrPem: string): boolean {
  return pathOrPem.includes("-----BEGIN ");
}

/** The first certificate of a chain that messages call `name`. @throws {TypeError} When there is none or it is broken. */
export function parseLeaf(cert: string, name: string): X509Certificate {
  const [leaf] = parseCertificates(cert, name);
  if (leaf === undefined) throw new TypeError(`${name} holds no certificate`);
  return leaf;
}

/**
 * The certificate chain `cert`, which begins with `leaf`, with its key, for the host names that `leaf` states.
 * @throws {TypeError} When the key is not what it should be or belongs to another certificate.
 */
export function pairWithKey(
  leaf: X509Certificate,
  cert: string,
  key: string,
): Certificate {
  if (!leaf.checkPrivateKey(parseKey(key))) {
    throw new TypeError("the private key belongs to another certificate");
  }
  return { hostnames: dnsNames(leaf), cert, key };
}

/** The certificates of a PEM text that messages call `name`. @throws {TypeError} When there are none or one is broken. */
export function parseCertificates(
  pem: string,
  name: string,
): X509Certificate[] {
  const blocks = pem.match(certificateBlock) ?? [];
  if (blocks.length === 0) throw new TypeError(`${name} holds no certificate`);
  return blocks.map((block) => {
    try {
      return new X509Certificate(block);
    } catch (error) {
      throw new TypeError(`a certificate is broken (${describeError(error)})`);
    }
  });
}

const certificateBlock =
  /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

// The cause of a failure is left out: it might quote the key.
function parseKey(key: string) {
  try {
    return createPrivateKey(key);
  } catch {
    throw new TypeError("the private key is not PEM or is encrypted");
  }
}

/** Host names in the subject alternative names, such as `["example.com", "*.example.com"]`. */
function dnsNames({ subjectAltName }: X509Certificate): string[] {
  const names = (subjectAltName ?? "").split(", ");
  return names.filter((name) => name.startsWith("DNS:")).map((name) =>
    name.slice("DNS:".length).toLowerCase()
  );
}
