import { createPrivateKey, X509Certificate } from "node:crypto";
import { describeError } from "../base/errors.ts";
import type { Certificate } from "../snapshot/snapshot.ts";

/** Reads a text file whose path is as it stands in the configuration; throws when it cannot. */
export type ReadFile = (path: string) => string;

/** The PEM text itself, or that of the file that `pathOrPem` names. @throws When the file cannot be read. */
export function loadPem(pathOrPem: string, readFile: ReadFile): string {
  return pathOrPem.includes("-----BEGIN ") ? pathOrPem : readFile(pathOrPem);
}

/**
 * A certificate chain with its key, for the host names that the certificate itself states.
 * @throws {TypeError} When a text is not what it should be or the two do not belong together.
 */
export function parseCertificate(cert: string, key: string): Certificate {
  const [leaf] = parseCertificates(cert);
  if (leaf === undefined) throw new TypeError("it holds no certificate");
  if (!leaf.checkPrivateKey(parseKey(key))) {
    throw new TypeError("the private key belongs to another certificate");
  }
  return { hostnames: dnsNames(leaf), cert, key };
}

/** The certificates of a PEM text. @throws {TypeError} When there are none or one is broken. */
export function parseCertificates(pem: string): X509Certificate[] {
  const blocks = pem.match(certificateBlock) ?? [];
  if (blocks.length === 0) throw new TypeError("it holds no certificate");
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
