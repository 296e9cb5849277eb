import { gatewayApiVersion, POLICY_API_GROUP } from "./group.ts";
import { resource } from "./resource.ts";
import { preciseHostname, referenceName } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

const targetRef = s.object({
  group: s.field(
    "API group of the backend.",
    s.withDefault(s.string(), POLICY_API_GROUP),
  ),
  kind: s.field(
    "Kind of the backend; `GatewayBackend` is the one that works.",
    s.withDefault(s.text(63), "GatewayBackend"),
  ),
  name: s.field("Name of the backend.", referenceName),
  sectionName: s.field("Accepted and not used.", s.optional(s.text(63))),
});

const caCertificateRef = s.refine(
  s.object({
    file: s.field("PEM file.", s.optional(s.text(4096))),
    inline: s.field("PEM text.", s.optional(s.text(1 << 20))),
    group: s.unsupported("API group of `name`.", s.optional(s.string())),
    kind: s.unsupported("Kind of `name`.", s.optional(s.text(63))),
    name: s.unsupported(
      "ConfigMap of a cluster.",
      s.optional(referenceName),
    ),
  }),
  s.exactlyOne("file", "inline", "name"),
);

const SUBJECT_ALT_NAME_TYPE = "What kind of name it is.";
const subjectAltName = s.variant("type", [
  s.object({
    type: s.field(SUBJECT_ALT_NAME_TYPE, s.literal("Hostname")),
    hostname: s.field("Host name to find.", preciseHostname),
  }),
  s.object({
    type: s.field(SUBJECT_ALT_NAME_TYPE, s.literal("URI")),
    uri: s.field("URI to find, such as a SPIFFE ID.", s.text(253)),
  }),
]);

/** Fields of `validation`; the short file form has them too. */
export const backendTlsEntries = {
  hostname: s.field(
    "Server name that is sent, and that the certificate has to be for.",
    preciseHostname,
  ),
  wellKnownCACertificates: s.field(
    "Trusts the CAs of the system.",
    s.optional(s.oneOf(["System"])),
  ),
  caCertificateRefs: s.field(
    "Trusts these CAs, and no others.",
    s.optional(s.list(caCertificateRef, { min: 1, max: 8 })),
  ),
  subjectAltNames: s.field(
    "Names of which the certificate has to have one, in place of `hostname`.",
    s.optional(s.list(subjectAltName, { max: 5 })),
  ),
};

/** How the certificate of a backend is verified; Gateway API `BackendTLSPolicyValidation`. */
export const backendTlsValidationSchema = s.refine(
  s.object(backendTlsEntries),
  s.exactlyOne("wellKnownCACertificates", "caCertificateRefs"),
);

/** Makes the gateway speak TLS to backends. */
export const backendTlsPolicySchema = resource(
  gatewayApiVersion,
  "BackendTLSPolicy",
  s.object({
    targetRefs: s.field(
      "Backends to which TLS is spoken.",
      s.list(targetRef, { min: 1, max: 16 }),
    ),
    validation: s.field(
      "How their certificate is verified.",
      backendTlsValidationSchema,
    ),
    options: s.field(
      "Accepted and not used.",
      s.optional(s.map(s.string(), s.string())),
    ),
  }),
);

/** Makes the gateway speak TLS to backends. */
export type BackendTlsPolicy = s.Infer<typeof backendTlsPolicySchema>;
/** How the certificate of a backend is verified. */
export type BackendTlsValidation = s.Infer<typeof backendTlsValidationSchema>;
