import { gatewayApiVersion, policyApiGroup } from "./group.ts";
import { resource } from "./resource.ts";
import { preciseHostname, referenceName } from "./scalars.ts";
import * as s from "./schema.ts";

const targetRef = s.object({
  group: s.withDefault(s.string(), policyApiGroup),
  kind: s.withDefault(s.text(63), "GatewayBackend"),
  name: referenceName,
  sectionName: s.optional(s.text(63)),
});

const caCertificateRef = s.refine(
  s.object({
    file: s.optional(s.text(4096)),
    inline: s.optional(s.text(1 << 20)),
    group: s.optional(s.string()),
    kind: s.optional(s.text(63)),
    name: s.optional(referenceName),
  }),
  s.exactlyOne("file", "inline", "name"),
);

const subjectAltName = s.variant("type", [
  s.object({ type: s.literal("Hostname"), hostname: preciseHostname }),
  s.object({ type: s.literal("URI"), uri: s.text(253) }),
]);

/** Fields of `validation`; the short file form has them too. */
export const backendTlsEntries = {
  hostname: preciseHostname,
  wellKnownCACertificates: s.optional(s.oneOf(["System"])),
  caCertificateRefs: s.optional(s.list(caCertificateRef, { min: 1, max: 8 })),
  subjectAltNames: s.optional(s.list(subjectAltName, { max: 5 })),
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
    targetRefs: s.list(targetRef, { min: 1, max: 16 }),
    validation: backendTlsValidationSchema,
    options: s.optional(s.map(s.string(), s.string())),
  }),
);

/** Makes the gateway speak TLS to backends. */
export type BackendTlsPolicy = s.Infer<typeof backendTlsPolicySchema>;
/** How the certificate of a backend is verified. */
export type BackendTlsValidation = s.Infer<typeof backendTlsValidationSchema>;
