import { createPrivateKey, X509Certificate } from "node:crypto";
import type { ConfigMap, Secret } from "../../api/resources/cluster_kinds.ts";
import { describeError } from "../../base/errors.ts";
import type { Certificate } from "../../snapshot/snapshot.ts";
import type { Referent, Referrer } from "./reference_grants.ts";
import type { Report } from "../memory/report.ts";

/** Reads a text file by its path in the configuration; throws when it cannot. */
export type ReadFile = (path: string) => string;

/** Look-ups of certificates in Secrets and ConfigMaps, by `namespace/name`. */
export interface PemLookups {
  secret(key: string): Secret | undefined;
  configMap(key: string): ConfigMap | undefined;
  /** See `References.isAllowed`. */
  isAllowed(from: Referrer, to: Referent): boolean;
}

/** Dependencies of reading certificates. */
export interface TlsContext {
  readonly readFile: ReadFile;
  readonly lookups: PemLookups;
  readonly report: Report;
  /** Wall-clock time in milliseconds; without it, no certificate counts as expired. */
  readonly now?: number;
}

/** Returns inline PEM as it is, or reads it from a file. @throws When the file cannot be read. */
export function loadPem(pathOrPem: string, readFile: ReadFile): string {
  if (isPem(pathOrPem)) return pathOrPem;
  try {
    return readFile(pathOrPem);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new TypeError(`no such file "${pathOrPem}"`);
  }
}

/** Names PEM in messages: by its file, or as inline text. */
export function nameOfPem(pathOrPem: string): string {
  return isPem(pathOrPem) ? "the text" : `"${pathOrPem}"`;
}

/** Reports whether a value is inline PEM, not a path. */
export function isPem(pathOrPem: string): boolean {
  return pathOrPem.includes("-----BEGIN ");
}

/** Parses the first certificate of a chain, which messages call `name`. @throws {TypeError} When it is missing or invalid. */
export function parseLeaf(cert: string, name: string): X509Certificate {
  const [leaf] = parseCertificates(cert, name);
  if (leaf === undefined) throw new TypeError(`${name} holds no certificate`);
  return leaf;
}

/**
 * Pairs the chain `cert`, which begins with `leaf`, with its private key, for the hostnames of `leaf`.
 * @throws {TypeError} When the key is invalid or belongs to another certificate.
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

/** Parses all certificates of a PEM text, which messages call `name`. @throws {TypeError} When one is invalid, or none is found. */
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

// Without the cause, which might quote the key.
function parseKey(key: string) {
  try {
    return createPrivateKey(key);
  } catch {
    throw new TypeError("the private key is not PEM or is encrypted");
  }
}

/** Returns the hostnames in the subject alternative names: `["example.com", "*.example.com"]`. */
function dnsNames({ subjectAltName }: X509Certificate): string[] {
  const names = (subjectAltName ?? "").split(", ");
  return names.filter((name) => name.startsWith("DNS:")).map((name) =>
    name.slice("DNS:".length).toLowerCase()
  );
}
