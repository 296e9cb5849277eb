import { hostAndPort } from "../api/address.ts";
import { backendTlsEntries } from "../api/backend_tls_policy.ts";
import {
  certificateSchema,
  listenerEntries,
  tlsEntries,
} from "../api/gateway.ts";
import { backendEntries } from "../api/gateway_backend.ts";
import { policyEntries, trafficSchema } from "../api/gateway_policy.ts";
import { backendFilterSchema, shortFilterSchema } from "../api/http_filter.ts";
import { ruleEntries, weight } from "../api/http_route.ts";
import {
  hostname,
  objectName,
  port,
  preciseHostname,
  referenceName,
} from "../api/scalars.ts";
import * as s from "../api/schema.ts";
import { settingsSchema } from "../api/settings.ts";

const tls = s.refine(
  s.object({
    cert: s.optional(s.text(1 << 20)),
    key: s.optional(s.text(1 << 20)),
    certificates: s.optional(s.list(certificateSchema, { min: 1, max: 64 })),
    ...tlsEntries,
  }),
  s.bothOrNeither("cert", "key"),
  s.bothOrNeither("clientCa", "clientCertificate"),
  s.exactlyOne("cert", "certificates"),
);

const { protocol: protocolSchema, ...otherListenerEntries } = listenerEntries;

const shortListener = s.object({
  name: s.optional(objectName),
  port: s.optional(port),
  protocol: s.optional(protocolSchema),
  ...otherListenerEntries,
  tls: s.optional(tls),
});

/** `gateways.<name>`: one listener, or `listeners` that share port and protocol. */
export const shortGatewaySchema = s.refine(
  s.object({
    port: s.optional(port),
    protocol: s.optional(protocolSchema),
    ...otherListenerEntries,
    tls: s.optional(tls),
    listeners: s.optional(s.list(shortListener, { min: 1, max: 64 })),
  }),
  s.rule(
    (gateway) =>
      gateway.port !== undefined ||
      (gateway.listeners?.every((listener) => listener.port !== undefined) ??
        false),
    'required field "port" is missing',
  ),
  s.rule(
    (gateway) =>
      gateway.listeners === undefined || ownByListener(gateway) === undefined,
    'cannot stand next to "listeners"; move it into each listener',
    (gateway) => [ownByListener(gateway) ?? ""],
  ),
);

function ownByListener(gateway: object): string | undefined {
  return [
    "hostname",
    "tls",
    "address",
    "timeouts",
    "maxConnections",
    "allowedRoutes",
  ]
    .find((key) => Object.hasOwn(gateway, key));
}

/** TLS to a backend; the name to verify is the backend's host, and the CAs the system's, unless given. */
export const shortTlsSchema = s.refine(
  s.object({ ...backendTlsEntries, hostname: s.optional(preciseHostname) }),
  s.atMostOne("wellKnownCACertificates", "caCertificateRefs"),
);

const routeBackend = s.refine(
  s.object({
    host: s.optional(hostAndPort),
    backend: s.optional(referenceName),
    weight: s.withDefault(weight, 1),
    filters: s.optional(s.list(backendFilterSchema, { max: 16 })),
    tls: s.optional(shortTlsSchema),
  }),
  s.exactlyOne("host", "backend"),
  s.rule(
    (item) => item.backend === undefined || item.tls === undefined,
    'the TLS settings of a named backend belong to it, in "backends"',
    ["tls"],
  ),
);

/** `routes[]`: a route with one rule. */
export const shortRouteSchema = s.object({
  name: s.optional(objectName),
  gateways: s.optional(s.list(referenceName, { min: 1, max: 32 })),
  hostnames: s.optional(s.list(hostname, { max: 16 })),
  ...ruleEntries,
  filters: s.optional(s.list(shortFilterSchema, { max: 16 })),
  backends: s.optional(s.list(routeBackend, { max: 16 })),
  policies: s.optional(trafficSchema),
});

/** `backends[]`: a `GatewayBackend`, with its TLS policy inline. */
export const shortBackendSchema = s.object({
  name: objectName,
  ...backendEntries,
  tls: s.optional(shortTlsSchema),
});

/** `policies[]`: a `GatewayPolicy`. */
export const shortPolicySchema = s.object({
  name: objectName,
  ...policyEntries,
});

/** The short file form as a whole. `ui` is read by a later version. */
export const shortFormSchema = s.object({
  config: s.optional(settingsSchema),
  gateways: s.optional(s.map(objectName, shortGatewaySchema)),
  backends: s.optional(s.list(shortBackendSchema, { max: 10_000 })),
  routes: s.optional(s.list(shortRouteSchema, { max: 10_000 })),
  policies: s.optional(s.list(shortPolicySchema, { max: 10_000 })),
  ui: s.optional(s.unknown()),
});

/** `gateways.<name>` after validation. */
export type ShortGateway = s.Infer<typeof shortGatewaySchema>;
/** `routes[]` after validation. */
export type ShortRoute = s.Infer<typeof shortRouteSchema>;
/** `backends[]` after validation. */
export type ShortBackend = s.Infer<typeof shortBackendSchema>;
/** `policies[]` after validation. */
export type ShortPolicy = s.Infer<typeof shortPolicySchema>;
/** TLS settings of a backend in the short form. */
export type ShortTls = s.Infer<typeof shortTlsSchema>;
/** TLS settings of a gateway in the short form. */
export type ShortListenerTls = s.Infer<typeof tls>;
