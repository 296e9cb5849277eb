import { hostAndPort } from "../../api/schema/address.ts";
import { backendTlsEntries } from "../../api/resources/backend_tls_policy.ts";
import {
  certificateEntries,
  certificates,
  listenerEntries,
  tlsEntries,
} from "../../api/resources/gateway_resource.ts";
import { backendEntries } from "../../api/resources/gateway_backend.ts";
import {
  policyEntries,
  trafficSchema,
} from "../../api/resources/gateway_policy.ts";
import { shortFilterSchema } from "../../api/resources/http_filter.ts";
import {
  backendUseEntries,
  ruleEntries,
} from "../../api/resources/http_route.ts";
import {
  hostname,
  objectName,
  port,
  preciseHostname,
  referenceName,
} from "../../api/schema/scalars.ts";
import * as s from "../../api/schema/schema.ts";
import { settingsSchema } from "../../api/settings.ts";

const tls = s.refine(
  s.object({
    cert: s.optional(certificateEntries.cert),
    key: s.optional(certificateEntries.key),
    certificates,
    ...tlsEntries,
  }),
  s.bothOrNeither("cert", "key"),
  s.bothOrNeither("clientCa", "clientCertificate"),
  s.exactlyOne("cert", "certificates"),
);

const shortListenerEntries = {
  port: s.field(
    "Port to listen on; a listener without one uses that of its gateway.",
    s.optional(port),
  ),
  ...listenerEntries,
  protocol: s.field(
    "What clients speak; `HTTPS` needs `tls`.",
    s.optional(listenerEntries.protocol),
    "HTTP",
  ),
  tls: s.field("How TLS is spoken.", s.optional(tls)),
};

const shortListener = s.object({
  name: s.field(
    "Name for the `sectionName` of policies; `listener0`, `listener1` and so on when left out.",
    s.optional(objectName),
  ),
  ...shortListenerEntries,
});

/** `gateways.<name>`: one listener, or `listeners` that share port and protocol. */
export const shortGatewaySchema = s.refine(
  s.object({
    ...shortListenerEntries,
    listeners: s.field(
      "Several listeners; `port` and `protocol` beside them are for all that state none.",
      s.optional(s.list(shortListener, { min: 1, max: 64 })),
    ),
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
  s.object({
    ...backendTlsEntries,
    hostname: s.field(
      "Server name that is sent, and that the certificate has to be for; the backend's host when left out.",
      s.optional(preciseHostname),
    ),
  }),
  s.atMostOne("wellKnownCACertificates", "caCertificateRefs"),
);

const shortTls = s.field(
  "Speaks TLS to the backend; `{}` is enough for a public certificate.",
  s.optional(shortTlsSchema),
);

const routeBackend = s.refine(
  s.object({
    host: s.field("Host and port to connect to.", s.optional(hostAndPort)),
    backend: s.field(
      "Name of one of `backends`, in place of `host`.",
      s.optional(referenceName),
    ),
    ...backendUseEntries,
    tls: shortTls,
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
  name: s.field(
    "Name in logs, metrics and `targetRefs`; `route0`, `route1` and so on when left out.",
    s.optional(objectName),
  ),
  gateways: s.field(
    "Names of the gateways it is for; all when left out.",
    s.optional(s.list(referenceName, { min: 1, max: 32 })),
  ),
  hostnames: s.field(
    "Hosts it is for; every host of its gateways when left out.",
    s.optional(s.list(hostname, { max: 16 })),
  ),
  ...ruleEntries,
  filters: s.field(
    "What happens to requests on their way.",
    s.optional(s.list(shortFilterSchema, { max: 16 })),
  ),
  backends: s.field(
    "Where requests go, shared out by weight.",
    s.optional(s.list(routeBackend, { max: 16 })),
  ),
  policies: s.field("What else runs on requests.", s.optional(trafficSchema)),
});

/** `backends[]`: a `GatewayBackend`, with its TLS policy inline. */
export const shortBackendSchema = s.object({
  name: s.field("Name for routes to refer to.", objectName),
  ...backendEntries,
  tls: shortTls,
});

/** `policies[]`: a `GatewayPolicy`. */
export const shortPolicySchema = s.object({
  name: s.field("Name in messages and `/config_dump`.", objectName),
  ...policyEntries,
});

/** `ui`: the web UI on gateways, at `/ui`. */
export const shortUiSchema = s.object({
  gateways: s.field(
    "Names of the gateways that serve it, at `/ui`.",
    s.list(referenceName, { min: 1, max: 32 }),
  ),
  hostnames: s.field(
    "Hosts it is for; every host of its gateways when left out.",
    s.optional(s.list(hostname, { max: 16 })),
  ),
  access: s.field(
    "`ReadWrite` lets the page change log levels.",
    s.optional(s.oneOf(["ReadOnly", "ReadWrite"])),
    "ReadOnly",
  ),
  policies: s.field(
    "Who may use it, such as `basicAuthentication`; without, everybody who reaches the gateway.",
    s.optional(trafficSchema),
  ),
});

/** The short file form as a whole. */
export const shortFormSchema = s.object({
  config: s.field(
    "Settings of the process, read at start only.",
    s.optional(settingsSchema),
  ),
  gateways: s.field(
    "Listeners, by the name of their gateway.",
    s.optional(s.map(objectName, shortGatewaySchema)),
  ),
  routes: s.field(
    "Which requests go where, and what happens to them.",
    s.optional(s.list(shortRouteSchema, { max: 10_000 })),
  ),
  backends: s.field(
    "Backends with settings of their own, for routes to refer to.",
    s.optional(s.list(shortBackendSchema, { max: 10_000 })),
  ),
  policies: s.field(
    "Policies for several routes, gateways or backends.",
    s.optional(s.list(shortPolicySchema, { max: 10_000 })),
  ),
  ui: s.field("The web UI on gateways.", s.optional(shortUiSchema)),
});

/** `gateways.<name>` after validation. */
export type ShortGateway = s.Infer<typeof shortGatewaySchema>;
/** `routes[]` after validation. */
export type ShortRoute = s.Infer<typeof shortRouteSchema>;
/** `backends[]` after validation. */
export type ShortBackend = s.Infer<typeof shortBackendSchema>;
/** `policies[]` after validation. */
export type ShortPolicy = s.Infer<typeof shortPolicySchema>;
/** `ui` after validation. */
export type ShortUi = s.Infer<typeof shortUiSchema>;
/** TLS settings of a backend in the short form. */
export type ShortTls = s.Infer<typeof shortTlsSchema>;
/** TLS settings of a gateway in the short form. */
export type ShortListenerTls = s.Infer<typeof tls>;
