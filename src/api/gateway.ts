import { duration } from "./duration.ts";
import { gatewayApiVersion } from "./group.ts";
import { resource } from "./resource.ts";
import {
  hostname,
  isIpAddress,
  namespace,
  objectName,
  port,
  referenceName,
} from "./scalars.ts";
import * as s from "./schema.ts";

const fileOrPem = s.pipe(
  s.text(1 << 20),
  s.description("Path of a PEM file, or the PEM text itself."),
);

/** A certificate chain and its private key, each a path or inline PEM. */
export const certificateSchema = s.object({ cert: fileOrPem, key: fileOrPem });

const certificateRef = s.object({
  group: s.withDefault(s.string(), ""),
  kind: s.withDefault(s.string(), "Secret"),
  name: referenceName,
  namespace: s.optional(namespace),
});

/** TLS fields other than the certificates; the short file form has them too. */
export const tlsEntries = {
  mode: s.withDefault(s.oneOf(["Terminate"]), "Terminate"),
  minVersion: s.withDefault(s.oneOf(["TLSv1.2", "TLSv1.3"]), "TLSv1.2"),
  clientCa: s.optional(fileOrPem),
  clientCertificate: s.optional(s.oneOf(["Require", "Request"])),
};

/** How a listener terminates TLS; several certificates are chosen between by SNI. */
export const listenerTlsSchema = s.refine(
  s.object({
    certificates: s.optional(s.list(certificateSchema, { min: 1, max: 64 })),
    certificateRefs: s.optional(s.list(certificateRef, { min: 1, max: 64 })),
    ...tlsEntries,
  }),
  s.exactlyOne("certificates", "certificateRefs"),
  s.bothOrNeither("clientCa", "clientCertificate"),
);

/** Fields that listeners of the resource and of the short file form share. */
export const listenerEntries = {
  protocol: s.oneOf(["HTTP", "HTTPS"]),
  hostname: s.optional(hostname),
  address: s.optional(s.pipe(
    s.textThat(
      (text) => text === "localhost" || isIpAddress(text),
      'an IP address or "localhost"',
    ),
    s.description(
      "Address to bind; every address of the machine when left out.",
    ),
  )),
  timeouts: s.optional(s.object({
    requestHeaders: s.optional(duration),
    requestBody: s.optional(duration),
    idle: s.optional(duration),
  })),
  maxConnections: s.optional(s.integer(1, 1_000_000)),
  allowedRoutes: s.optional(s.object({
    namespaces: s.optional(s.object({
      from: s.optional(s.oneOf(["All", "Same", "Selector", "None"])),
      selector: s.optional(s.unknown()),
    })),
    kinds: s.optional(s.list(
      s.object({ group: s.optional(s.string()), kind: s.string() }),
      { max: 8 },
    )),
  })),
};

const listenerSchema = s.refine(
  s.object({
    name: objectName,
    port,
    ...listenerEntries,
    tls: s.optional(listenerTlsSchema),
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
    gatewayClassName: s.optional(s.string()),
    addresses: s.optional(s.unknown()),
    infrastructure: s.optional(s.unknown()),
    listeners: s.refine(
      s.list(listenerSchema, { min: 1, max: 64 }),
      s.unique((listener) => listener.name, "listener name"),
      s.unique(
        (listener) => `${listener.hostname ?? "*"}:${listener.port}`,
        "hostname and port",
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
