import { hostAndPort } from "../../api/schema/address.ts";
import { backendTlsEntries } from "../../api/resources/backend_tls_policy.ts";
import {
  certificateEntries,
  certificates,
  tlsEntries,
} from "../../api/resources/gateway_tls.ts";
import { listenerEntries } from "../../api/resources/gateway_resource.ts";
import {
  backendAddress,
  backendEntries,
  placeOfCredentials,
} from "../../api/resources/gateway_backend.ts";
import { llmBackendSchema } from "../../api/resources/llm_backend.ts";
import { mcpBackendSchema } from "../../api/resources/mcp_backend.ts";
import type { PolicySchemas } from "../../api/resources/gateway_policy_schema.ts";
import { shortFilterSchema } from "../../api/rules/http_filter.ts";
import { shortMatchSchema } from "../../api/rules/http_match.ts";
import {
  backendUseEntries,
  defaultMatches,
  MATCHES_DESCRIPTION,
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
    "Port to listen on. Default for a listener: that of its gateway.",
    s.optional(port),
  ),
  ...listenerEntries,
  protocol: s.field(
    "Protocol of clients; `HTTPS` requires `tls`.",
    s.optional(listenerEntries.protocol),
    "HTTP",
  ),
  tls: s.field("TLS termination.", s.optional(tls)),
};

const shortListener = s.object({
  name: s.field(
    "Name; policies refer to it by `sectionName`. Default: `listener0`, `listener1` and so on.",
    s.optional(objectName),
  ),
  ...shortListenerEntries,
});

/** `gateways.<name>`: one listener, or `listeners` that share port and protocol. */
export const shortGatewaySchema = s.refine(
  s.object({
    ...shortListenerEntries,
    listeners: s.field(
      "Several listeners; `port` and `protocol` of the gateway are their defaults.",
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
      gateway.listeners === undefined || listenerField(gateway) === undefined,
    'cannot be used beside "listeners"; move it into each listener',
    (gateway) => [listenerField(gateway) ?? ""],
  ),
);

function listenerField(gateway: object): string | undefined {
  return [
    "hostname",
    "tls",
    "address",
    "timeouts",
    "maxConnections",
    "maxConnectionsPerAddress",
    "minRequestBodyRate",
    "minResponseBodyRate",
    "allowedRoutes",
  ]
    .find((key) => Object.hasOwn(gateway, key));
}

/** TLS to a backend; by default, verifies the backend's host against the system's CAs. */
export const shortTlsSchema = s.refine(
  s.object({
    ...backendTlsEntries,
    hostname: s.field(
      "Server name (SNI) that the gateway sends and that the certificate must match. Default: the backend's host.",
      s.optional(preciseHostname),
    ),
  }),
  s.atMostOne("wellKnownCACertificates", "caCertificateRefs"),
);

const shortTls = s.field(
  "Connects to the backend with TLS; `{}` is enough for a public certificate.",
  s.optional(shortTlsSchema),
);

const routeBackend = s.refine(
  s.object({
    host: s.field("Host and port to connect to.", s.optional(hostAndPort)),
    backend: s.field(
      "Name of a backend in `backends`, instead of `host`.",
      s.optional(referenceName),
    ),
    llm: s.field(
      "An LLM provider, instead of `host`.",
      s.optional(llmBackendSchema),
    ),
    mcp: s.field(
      "MCP servers behind one endpoint, instead of `host`.",
      s.optional(mcpBackendSchema),
    ),
    ...backendUseEntries,
    tls: shortTls,
  }),
  s.exactlyOne("host", "backend", "llm", "mcp"),
  s.rule(
    (item) => item.backend === undefined || item.tls === undefined,
    'set "tls" of a named backend in "backends"',
    ["tls"],
  ),
);

/** `backends[]`: a `GatewayBackend`, with its TLS policy inline. */
export const shortBackendSchema = s.refine(
  s.object({
    name: s.field("Name; routes refer to it.", objectName),
    ...backendEntries,
    tls: shortTls,
  }),
  backendAddress,
  placeOfCredentials,
);

/** A route with one rule. */
function routeSchema(policies: PolicySchemas) {
  return s.object({
    name: s.field(
      "Name in logs, metrics and `targetRefs`. Default: `route0`, `route1` and so on.",
      s.optional(objectName),
    ),
    gateways: s.field(
      "Names of gateways that the route attaches to. Default: all.",
      s.optional(s.list(referenceName, { min: 1, max: 32 })),
    ),
    hostnames: s.field(
      "Hosts of the route. Default: every host of its gateways.",
      s.optional(s.list(hostname, { max: 16 })),
    ),
    ...ruleEntries,
    matches: s.field(
      MATCHES_DESCRIPTION,
      s.withDefault(s.list(shortMatchSchema, { max: 64 }), defaultMatches),
    ),
    filters: s.field(
      "Changes to requests and responses.",
      s.optional(s.list(shortFilterSchema, { max: 16 })),
    ),
    backends: s.field(
      "Backends that receive the requests, in proportion to their weights.",
      s.optional(s.list(routeBackend, { max: 16 })),
    ),
    policies: s.field(
      "Policies for the requests of the route.",
      s.optional(policies.traffic),
    ),
  });
}

/** The web UI on gateways, at `/ui`. */
function uiSchema(policies: PolicySchemas) {
  return s.object({
    gateways: s.field(
      "Names of gateways that serve the web UI, at `/ui`.",
      s.list(referenceName, { min: 1, max: 32 }),
    ),
    hostnames: s.field(
      "Hosts that serve the web UI. Default: every host of its gateways.",
      s.optional(s.list(hostname, { max: 16 })),
    ),
    access: s.field(
      "`ReadWrite` allows changing log levels.",
      s.optional(s.oneOf(["ReadOnly", "ReadWrite"])),
      "ReadOnly",
    ),
    policies: s.field(
      "Policies for access to the web UI, such as `basicAuthentication`. Default: everybody who reaches the gateway has access.",
      s.optional(policies.traffic),
    ),
  });
}

/** Creates the schemas of those parts of the short file form that have policies, and of the form as a whole. */
export function createShortForm(policies: PolicySchemas) {
  const route = routeSchema(policies);
  const ui = uiSchema(policies);
  // A `GatewayPolicy`.
  const policy = s.object({
    name: s.field("Name in messages and `/config_dump`.", objectName),
    ...policies.entries,
  });
  const whole = s.object({
    config: s.field(
      "Settings of the process, read only at startup.",
      s.optional(settingsSchema),
    ),
    gateways: s.field(
      "Gateways by name.",
      s.optional(s.map(objectName, shortGatewaySchema)),
    ),
    routes: s.field(
      "Routes: map requests to backends.",
      s.optional(s.list(route, { max: 10_000 })),
    ),
    backends: s.field(
      "Backends with their settings; routes refer to them by name.",
      s.optional(s.list(shortBackendSchema, { max: 10_000 })),
    ),
    policies: s.field(
      "Policies for several routes, gateways or backends.",
      s.optional(s.list(policy, { max: 10_000 })),
    ),
    ui: s.field("Serves the web UI on gateways.", s.optional(ui)),
  });
  return { route, policy, ui, whole };
}

/** Schemas of the short file form. */
export type ShortFormSchemas = ReturnType<typeof createShortForm>;

/** `gateways.<name>` after validation. */
export type ShortGateway = s.Infer<typeof shortGatewaySchema>;
/** `routes[]` after validation. */
export type ShortRoute = s.Infer<ShortFormSchemas["route"]>;
/** `backends[]` after validation. */
export type ShortBackend = s.Infer<typeof shortBackendSchema>;
/** `policies[]` after validation. */
export type ShortPolicy = s.Infer<ShortFormSchemas["policy"]>;
/** `ui` after validation. */
export type ShortUi = s.Infer<ShortFormSchemas["ui"]>;
/** TLS settings of a backend in the short form. */
export type ShortTls = s.Infer<typeof shortTlsSchema>;
/** TLS settings of a gateway in the short form. */
export type ShortListenerTls = s.Infer<typeof tls>;
