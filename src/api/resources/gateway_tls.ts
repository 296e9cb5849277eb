import { namespace, port, referenceName } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

const fileOrPem = s.named("file or PEM", s.text(1 << 20));

/** A certificate chain and its private key, each a PEM file or inline PEM. */
export const certificateEntries = {
  cert: s.field("Certificate chain: a PEM file or inline PEM.", fileOrPem),
  key: s.field(
    "Private key: a PEM file or inline PEM.",
    s.withPrivacy("privateKey", fileOrPem),
  ),
};

/** A certificate chain and its private key. */
const certificateSchema = s.object(certificateEntries);

const certificateRef = objectRef("Secret");

function objectRef(kind: string) {
  return s.object({
    group: s.field("API group of the kind.", s.withDefault(s.string(), "")),
    kind: s.field("Kind of the resource.", s.withDefault(s.string(), kind)),
    name: s.field("Name of the resource.", referenceName),
    namespace: s.field("Namespace of the resource.", s.optional(namespace)),
  });
}

/** A reference to a Secret or ConfigMap. */
export type ObjectRef = s.Infer<ReturnType<typeof objectRef>>;

/** TLS fields other than the certificates, shared with the short file form. */
export const tlsEntries = {
  mode: s.field(
    "The gateway terminates TLS.",
    s.withDefault(s.oneOf(["Terminate"]), "Terminate"),
  ),
  minVersion: s.field(
    "Minimum TLS version of clients.",
    s.withDefault(s.oneOf(["TLSv1.2", "TLSv1.3"]), "TLSv1.2"),
  ),
  clientCa: s.field(
    "CA that issues client certificates: a PEM file or inline PEM; requires `clientCertificate`.",
    s.optional(fileOrPem),
  ),
  clientCertificate: s.field(
    "`Require`: clients must present a certificate of `clientCa`. `Request`: they may.",
    s.optional(s.oneOf(["Require", "Request"])),
  ),
};

/** Certificates of a listener. */
export const certificates = s.field(
  "Certificates, selected by the client's server name (SNI).",
  s.optional(s.list(certificateSchema, { min: 1, max: 64 })),
);

/** TLS termination of a listener. */
export const listenerTlsSchema = s.refine(
  s.object({
    certificates,
    certificateRefs: s.field(
      "Secrets of type `kubernetes.io/tls`, in place of `certificates`.",
      s.optional(s.list(certificateRef, { min: 1, max: 64 })),
    ),
    ...tlsEntries,
  }),
  s.exactlyOne("certificates", "certificateRefs"),
  s.bothOrNeither("clientCa", "clientCertificate"),
);

/** Client certificates of a port; Gateway API `FrontendTLSValidation`. */
const frontendSchema = s.object({
  validation: s.field(
    "Verifies client certificates. Default: none is requested.",
    s.optional(s.object({
      caCertificateRefs: s.field(
        "ConfigMaps whose `ca.crt` has CAs that issue client certificates.",
        s.list(objectRef("ConfigMap"), { min: 1, max: 16 }),
      ),
      mode: s.field(
        "`AllowValidOnly`: clients must present a valid certificate. `AllowInsecureFallback`: all clients are accepted, with an invalid certificate or none.",
        s.withDefault(
          s.oneOf(["AllowValidOnly", "AllowInsecureFallback"]),
          "AllowValidOnly",
        ),
      ),
    })),
  ),
});

/** TLS settings of a gateway; Gateway API `GatewayTLSConfig`. */
export const gatewayTlsSchema = s.object({
  frontend: s.field(
    "Client certificates, for listeners without `clientCertificate`.",
    s.optional(s.object({
      default: s.field("Applies to all ports.", s.optional(frontendSchema)),
      perPort: s.field(
        "Applies to one port, in place of `default`.",
        s.optional(s.refine(
          s.list(
            s.object({
              port: s.field("Port of listeners.", port),
              tls: s.field("Client certificates of the port.", frontendSchema),
            }),
            { max: 64 },
          ),
          s.unique(({ port }) => port, "port"),
        )),
      ),
    })),
  ),
  backend: s.field(
    "Connections to backends with TLS.",
    s.optional(s.object({
      clientCertificateRef: s.field(
        "Secret of type `kubernetes.io/tls` with the certificate that the gateway presents to routes' backends.",
        s.optional(certificateRef),
      ),
    })),
  ),
});
