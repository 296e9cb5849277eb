import type { BackendTlsPolicy } from "../../api/resources/backend_tls_policy.ts";
import type { Named } from "../memory/report.ts";
import {
  loadPem,
  nameOfPem,
  parseCertificates,
  readCa,
} from "../resolve/certificates.ts";
import { readFileOf } from "../resolve/references.ts";
import type { BackendContext } from "./backend_context.ts";

/** A reference to CA certificates that a backend's certificate is verified with. */
export type CaReference = NonNullable<
  BackendTlsPolicy["spec"]["validation"]["caCertificateRefs"]
>[number];

/** Returns CA certificates, PEM. @throws {TypeError} When they cannot be used. */
export function loadCa(
  { file, inline, group = "", kind = "ConfigMap", name = "" }: CaReference,
  from: Named,
  { inputs }: BackendContext,
): string {
  const source = inline ?? file;
  if (source === undefined) return readCa(from, { group, kind, name }, inputs);
  const pem = loadPem(source, readFileOf(inputs));
  parseCertificates(pem, nameOfPem(source));
  return pem;
}
