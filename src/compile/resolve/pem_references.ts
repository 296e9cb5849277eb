import type { Secret } from "../../api/resources/cluster_kinds.ts";
import type { ObjectRef } from "../../api/resources/gateway_resource.ts";
import { GATEWAY_API_GROUP } from "../../api/resources/group.ts";
import type { Named } from "../memory/report.ts";
import { isPem, parseCertificates, type PemLookups } from "./certificates.ts";

/** A reference to a certificate that cannot be used. */
export class PemReferenceError extends TypeError {
  readonly reason: "NotPermitted" | "UnknownKind" | "Invalid";

  constructor(reason: PemReferenceError["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Returns the certificate of a Secret of type `kubernetes.io/tls`. @throws {PemReferenceError} */
export function readSecret(
  from: Named,
  reference: ObjectRef,
  lookups: PemLookups,
): { readonly cert: string; readonly key: string } {
  const name = resolve(from, reference, { kind: "Secret", lookups });
  const secret = lookups.secret(name);
  if (secret === undefined) {
    throw new PemReferenceError("Invalid", `Secret "${name}" not found`);
  }
  const cert = secretValue(secret, "tls.crt");
  const key = secretValue(secret, "tls.key");
  if (cert === undefined || key === undefined) {
    throw new PemReferenceError(
      "Invalid",
      `Secret "${name}" has no valid "tls.crt" and "tls.key"`,
    );
  }
  return { cert, key };
}

/** Returns the CA certificates of a ConfigMap, PEM. @throws {PemReferenceError} @throws {TypeError} When one is invalid. */
export function readCa(
  from: Named,
  reference: ObjectRef,
  lookups: PemLookups,
): string {
  const name = resolve(from, reference, { kind: "ConfigMap", lookups });
  const configMap = lookups.configMap(name);
  if (configMap === undefined) {
    throw new PemReferenceError("Invalid", `ConfigMap "${name}" not found`);
  }
  const pem = configMap.data?.["ca.crt"] ?? "";
  parseCertificates(pem, `"ca.crt" of ConfigMap "${name}"`);
  return pem;
}

/** Returns the `namespace/name` of a reference. */
function resolve(
  from: Named,
  { group, kind, name, namespace = from.metadata.namespace }: ObjectRef,
  { kind: expected, lookups }: {
    readonly kind: "Secret" | "ConfigMap";
    readonly lookups: PemLookups;
  },
): string {
  if (group !== "" || kind !== expected) {
    throw new PemReferenceError(
      "UnknownKind",
      `kind "${kind}" is no "${expected}"`,
    );
  }
  const referrer = {
    group: GATEWAY_API_GROUP,
    kind: from.kind,
    namespace: from.metadata.namespace,
  };
  const key = `${namespace}/${name}`;
  if (!lookups.isAllowed(referrer, { group, kind, namespace, name })) {
    throw new PemReferenceError(
      "NotPermitted",
      `no ReferenceGrant of namespace "${namespace}" allows ${kind} "${key}"`,
    );
  }
  return key;
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
