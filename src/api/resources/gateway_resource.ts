import { duration } from "../schema/duration.ts";
import { GATEWAY_API_GROUP, gatewayApiVersion } from "./group.ts";
import { resource } from "./resource.ts";
import {
  hostname,
  isIpAddress,
  namespace,
  objectName,
  port,
  referenceName,
} from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

const fileOrPem = s.named("file or PEM", s.text(1 << 20));

/** A certificate chain and its private key, each a path or inline PEM. */
export const certificateEntries = {
  cert: s.field("Certificate chain: a PEM file, or its text.", fileOrPem),
  key: s.field("Private key: a PEM file, or its text.", fileOrPem),
};

/** A certificate chain and its private key. */
export const certificateSchema = s.object(certificateEntries);

const certificateRef = s.object({
  group: s.field("API group of the kind.", s.withDefault(s.string(), "")),
  kind: s.field("Kind of the resource.", s.withDefault(s.string(), "Secret")),
  name: s.field("Name of the resource.", referenceName),
  namespace: s.field("Namespace of the resource.", s.optional(namespace)),
});

/** TLS fields other than the certificates; the short file form has them too. */
export const tlsEntries = {
  mode: s.field(
    "TLS ends at the gateway.",
    s.withDefault(s.oneOf(["Terminate"]), "Terminate"),
  ),
  minVersion: s.field(
    "Oldest version that clients may use.",
    s.withDefault(s.oneOf(["TLSv1.2", "TLSv1.3"]), "TLSv1.2"),
  ),
  clientCa: s.field(
    "CA that client certificates come from: a PEM file, or its text; needs `clientCertificate`.",
    s.optional(fileOrPem),
  ),
  clientCertificate: s.field(
    "Whether clients must show a certificate of `clientCa`, or are only asked for it.",
    s.optional(s.oneOf(["Require", "Request"])),
  ),
};

/** Several certificates of a listener. */
export const certificates = s.field(
  "Certificates, chosen by the server name that the client asks for.",
  s.optional(s.list(certificateSchema, { min: 1, max: 64 })),
);

/** How a listener terminates TLS; several certificates are chosen between by SNI. */
export const listenerTlsSchema = s.refine(
  s.object({
    certificates,
    certificateRefs: s.unsupported(
      "Certificates in Secrets of a cluster.",
      s.optional(s.list(certificateRef, { min: 1, max: 64 })),
    ),
    ...tlsEntries,
  }),
  s.exactlyOne("certificates", "certificateRefs"),
  s.bothOrNeither("clientCa", "clientCertificate"),
);

/** Fields that listeners of the resource and of the short file form share. */
export const listenerEntries = {
  protocol: s.field(
    "What clients speak; `HTTPS` needs `tls`.",
    s.oneOf(["HTTP", "HTTPS"]),
  ),
  hostname: s.field(
    "Host that is served, such as `api.example.com` or `*.example.com`; every host when left out.",
    s.optional(hostname),
  ),
  address: s.field(
    "Address to listen on; every address of the machine when left out.",
    s.optional(s.named(
      "IP address or `localhost`",
      s.textThat(
        (text) => text === "localhost" || isIpAddress(text),
        'an IP address or "localhost"',
      ),
    )),
  ),
  timeouts: s.field(
    "How long slow clients are waited for; `0s` is no limit.",
    s.optional(s.object({
      requestHeaders: s.field(
        "For the headers of a request.",
        s.optional(duration),
        "15s",
      ),
      requestBody: s.field(
        "Between two pieces of a request body.",
        s.optional(duration),
        "60s",
      ),
      idle: s.field(
        "For the next request on a connection.",
        s.optional(duration),
        "75s",
      ),
    })),
  ),
  maxConnections: s.field(
    "Connections at a time; further ones are closed.",
    s.optional(s.integer(1, 1_000_000)),
    10000,
  ),
  allowedRoutes: s.field(
    "Routes that may attach.",
    s.optional(s.object({
      namespaces: s.field(
        "Namespaces that they may come from.",
        s.optional(s.object({
          from: s.field(
            "Any, that of the gateway, or none; `Selector` allows none.",
            s.optional(s.oneOf(["All", "Same", "Selector", "None"])),
            "Same",
          ),
          selector: s.field("Accepted and not used.", s.optional(s.unknown())),
        })),
      ),
      kinds: s.field(
        "Kinds that they may be of; `HTTPRoute` is the one that exists.",
        s.optional(s.list(
          s.object({
            group: s.field(
              "API group of the kind.",
              s.optional(s.string()),
              GATEWAY_API_GROUP,
            ),
            kind: s.field("Kind of route.", s.string()),
          }),
          { max: 8 },
        )),
      ),
    })),
  ),
};

const listenerSchema = s.refine(
  s.object({
    name: s.field(
      "Name, unique in the gateway, for the `sectionName` of routes and policies.",
      objectName,
    ),
    port: s.field("Port to listen on.", port),
    ...listenerEntries,
    tls: s.field("How TLS is spoken.", s.optional(listenerTlsSchema)),
  }),
  s.rule(
    (listener) => listener.protocol !== "HTTPS" || listener.tls !== undefined,
    'protocol "HTTPS" needs "tls" with a certificate',
    ["protocol"],
  ),
  s.rule(
    (listener) => listener.protocol !== "HTTP" || listener.tls === undefined,
    'protocol "HTTP" cannot have "tls"; use protocol "HTTPS"',
    ["tls"],
  ),
);

/** A `Gateway` of the Gateway API, with our own listener fields. */
export const gatewaySchema = resource(
  gatewayApiVersion,
  "Gateway",
  s.object({
    gatewayClassName: s.field(
      "Accepted and not used.",
      s.optional(s.string()),
    ),
    addresses: s.field("Accepted and not used.", s.optional(s.unknown())),
    infrastructure: s.field("Accepted and not used.", s.optional(s.unknown())),
    listeners: s.field(
      "Ports and hosts that are served.",
      s.refine(
        s.list(listenerSchema, { min: 1, max: 64 }),
        s.unique((listener) => listener.name, "listener name"),
        s.unique(
          (listener) => `${listener.hostname ?? "*"}:${listener.port}`,
          "hostname and port",
        ),
      ),
    ),
  }),
);

/** A gateway: named listeners that routes attach to. */
export type Gateway = s.Infer<typeof gatewaySchema>;

/** One port and hostname that accepts. */
export type Listener = Gateway["spec"]["listeners"][number];

/** TLS settings of a listener. */
export type ListenerTls = NonNullable<Listener["tls"]>;
