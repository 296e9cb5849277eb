import { createPrivateKey, X509Certificate } from "node:crypto";
import type { BackendTlsPolicy } from "../../api/resources/backend_tls_policy.ts";
import type { Secret } from "../../api/resources/cluster_kinds.ts";
import { describeError } from "../../base/errors.ts";
import type { Certificate } from "../../snapshot/snapshot.ts";
import {
  findConfigMap,
  findSecret,
  type Inputs,
  readNamedFile,
  type Referrer,
  UnresolvedReferenceError,
} from "./references.ts";
import type { Named, Report } from "../memory/report.ts";
import type { ObjectRef } from "../../api/resources/gateway_tls.ts";
import { GATEWAY_API_GROUP } from "../../api/schema/group.ts";

/** Dependencies of reading certificates. */
export interface TlsContext {
  readonly inputs: Inputs;
  readonly report: Report;
  /** Wall-clock time in milliseconds; without it, no certificate counts as expired. */
  readonly now?: number;
}

/** Returns inline PEM as it is, or reads it from a file. @throws When the file cannot be read. */
export function loadPem(pathOrPem: string, inputs: Inputs): string {
  return isPem(pathOrPem) ? pathOrPem : readNamedFile(pathOrPem, inputs);
}

/** Names PEM in messages: by its file, or as inline text. */
export function nameOfPem(pathOrPem: string): string {
  return isPem(pathOrPem) ? "the text" : `"${pathOrPem}"`;
}

/** Reports whether a value is inline PEM, not a path. */
function isPem(pathOrPem: string): boolean {
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
function parseCertificates(
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

/** Returns the certificate of a Secret of type `kubernetes.io/tls`. @throws {UnresolvedReferenceError} */
export function readSecret(
  from: Named,
  reference: ObjectRef,
  inputs: Inputs,
): { readonly cert: string; readonly key: string } {
  const secret = findSecret(referrerOf(from), reference, inputs);
  const cert = secretValue(secret, "tls.crt");
  const key = secretValue(secret, "tls.key");
  if (cert !== undefined && key !== undefined) return { cert, key };
  const { namespace = from.metadata.namespace, name } = reference;
  throw new UnresolvedReferenceError(
    "Invalid",
    `Secret "${namespace}/${name}" has no valid "tls.crt" and "tls.key"`,
  );
}

function referrerOf({ kind, metadata: { namespace } }: Named): Referrer {
  return { group: GATEWAY_API_GROUP, kind, namespace };
}

/** Returns a value of a Secret if it is PEM, so that it can never name a file. */
function secretValue(
  { data = {}, stringData = {} }: Secret,
  name: string,
): string | undefined {
  const value = stringData[name] ?? decodeBase64(data[name] ?? "");
  return isPem(value) ? value : undefined;
}

function decodeBase64(text: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(text));
  } catch {
    return "";
  }
}

/** A reference to CA certificates that the certificate of a peer is verified with. */
export type CaReference =
  & NonNullable<
    BackendTlsPolicy["spec"]["validation"]["caCertificateRefs"]
  >[number]
  & Pick<ObjectRef, "namespace">;

/**
 * Returns CA certificates, PEM.
 * @throws {UnresolvedReferenceError} @throws {TypeError} When one is invalid.
 */
export function loadCa(
  { file, inline = file, ...reference }: CaReference,
  from: Named,
  inputs: Inputs,
): string {
  if (inline !== undefined) {
    const pem = loadPem(inline, inputs);
    parseCertificates(pem, nameOfPem(inline));
    return pem;
  }
  const { group = "", kind = "ConfigMap", name = "" } = reference;
  const { namespace = from.metadata.namespace } = reference;
  const object = { group, kind, namespace, name };
  const configMap = findConfigMap(referrerOf(from), object, inputs);
  const pem = configMap.data?.["ca.crt"] ?? "";
  parseCertificates(pem, `"ca.crt" of ConfigMap "${namespace}/${name}"`);
  return pem;
}
