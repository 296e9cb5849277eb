import { gatewayApiVersion, POLICY_API_GROUP } from "../schema/group.ts";
import { resource } from "./resource.ts";
import { preciseHostname, referenceName } from "../schema/scalars.ts";
import { caCertificateRefs } from "../schema/ca_reference.ts";
import * as s from "../schema/schema.ts";

const targetRef = s.object({
  group: s.field(
    "API group of the backend.",
    s.withDefault(s.string(), POLICY_API_GROUP),
  ),
  kind: s.field(
    "Kind of the backend; only `GatewayBackend` is supported.",
    s.withDefault(s.text(63), "GatewayBackend"),
  ),
  name: s.field("Name of the backend.", referenceName),
  sectionName: s.field("Accepted, but ignored.", s.optional(s.text(63))),
});

const SUBJECT_ALT_NAME_TYPE = "Type of the name.";
const subjectAltName = s.variant("type", [
  s.object({
    type: s.field(SUBJECT_ALT_NAME_TYPE, s.literal("Hostname")),
    hostname: s.field("Expected host name.", preciseHostname),
  }),
  s.object({
    type: s.field(SUBJECT_ALT_NAME_TYPE, s.literal("URI")),
    uri: s.field("Expected URI, such as a SPIFFE ID.", s.text(253)),
  }),
]);

/** Fields of `validation`, shared with the short file form. */
export const backendTlsEntries = {
  hostname: s.field(
    "Server name (SNI) that the gateway sends and that the certificate must match.",
    preciseHostname,
  ),
  wellKnownCACertificates: s.field(
    "Trusts the system's CAs.",
    s.optional(s.oneOf(["System"])),
  ),
  caCertificateRefs,
  subjectAltNames: s.field(
    "The certificate must contain one of these names, instead of `hostname`.",
    s.optional(s.list(subjectAltName, { max: 5 })),
  ),
};

/** Verification of a backend's certificate; Gateway API `BackendTLSPolicyValidation`. */
const backendTlsValidationSchema = s.refine(
  s.object(backendTlsEntries),
  s.exactlyOne("wellKnownCACertificates", "caCertificateRefs"),
);

/** Enables TLS to backends. */
export const backendTlsPolicySchema = resource(
  gatewayApiVersion,
  "BackendTLSPolicy",
  s.object({
    targetRefs: s.field(
      "Backends that the gateway connects to with TLS.",
      s.list(targetRef, { min: 1, max: 16 }),
    ),
    validation: s.field(
      "Verification of the backends' certificates.",
      backendTlsValidationSchema,
    ),
    options: s.field(
      "Accepted, but ignored.",
      s.optional(s.map(s.string(), s.string())),
    ),
  }),
);

/** Enables TLS to backends. */
export type BackendTlsPolicy = s.Infer<typeof backendTlsPolicySchema>;
