import { adminLoginSchema } from "./admin_login_schema.ts";
import { isAdminToken } from "./admin_token.ts";
import { sealingSecret } from "./login_fields.ts";
import * as s from "./schema/schema.ts";
import { connectionsSchema, kvSchema, vaultSchema } from "./store_settings.ts";
import { listenAddress, parseAddress } from "./schema/address.ts";
import { duration, parseDuration } from "./schema/duration.ts";
import {
  headerName,
  httpUrl,
  isIpAddress,
  preciseHostname,
} from "./schema/scalars.ts";
import { pricesSchema } from "./prices.ts";
import {
  egressSchema,
  limitsSchema,
  remoteMediaSchema,
} from "./request_settings.ts";
import {
  accessLogSchema,
  failureMemorySchema,
  loggingSchema,
  metricsSchema,
  otlpSchema,
  requestMemorySchema,
  tracingSchema,
} from "./telemetry_settings.ts";

/** Largest value of `config.workers`. */
export const MAX_WORKERS = 64;

const cidr = s.named(
  "address range",
  s.checkedText(isCidr, 'an address range such as "10.0.0.0/8" or "fd00::/8"'),
);

function isCidr(text: string): boolean {
  const slash = text.lastIndexOf("/");
  const address = slash < 0 ? text : text.slice(0, slash);
  if (!isIpAddress(address)) return false;
  if (slash < 0) return true;
  const bits = text.slice(slash + 1);
  return /^[0-9]{1,3}$/.test(bits) &&
    Number(bits) <= (address.includes(":") ? 128 : 32);
}

/** The `config` section: settings of the process, read only at startup. */
export const settingsSchema = s.refine(
  s.object({
    adminAddr: s.field(
      "Listen address of the admin interface: `ip:port`, `localhost:port`, `unix:<path>` or `off`.",
      s.withDefault(listenAddress, "localhost:15000"),
    ),
    statsAddr: s.field(
      "Listen address for metrics and health, in the format of `adminAddr`.",
      s.withDefault(listenAddress, "localhost:15020"),
    ),
    sensitiveHeaders: s.field(
      "Headers to redact in debug output, in addition to `Authorization`, `Proxy-Authorization`, `Cookie`, `Set-Cookie`, `X-Api-Key`, `Api-Key`, `X-Goog-Api-Key`, `Ocp-Apim-Subscription-Key`, `X-Amz-Security-Token` and headers from which policies read credentials. Backends still receive them.",
      s.withDefault(s.list(sensitiveHeader()), []),
    ),
    logging: s.field(
      "The log, on standard error.",
      s.withDefault(loggingSchema, {}),
    ),
    accessLog: s.field(
      "The access log, on standard output.",
      s.withDefault(accessLogSchema, {}),
    ),
    otlp: s.field(
      "The OpenTelemetry collector for spans, metrics and logs.",
      s.optional(otlpSchema),
    ),
    tracing: s.field(
      "Spans of requests, which go to `config.otlp`. Without it, trace headers pass through unchanged.",
      s.optional(tracingSchema),
    ),
    metrics: s.field(
      "Metrics, besides `/metrics`.",
      s.withDefault(metricsSchema, {}),
    ),
    failureMemory: s.field(
      "Records of recent failed requests for `gwctl explain`, without bodies and credentials.",
      s.withDefault(failureMemorySchema, {}),
    ),
    requestMemory: s.field(
      "Records of recent requests that succeeded, up to 50 per second, for the page Requests of the web UI and `GET /requests`, without bodies and credentials.",
      s.withDefault(requestMemorySchema, {}),
    ),
    trustedProxies: s.field(
      "Addresses of proxies in front of the gateway. The gateway keeps their `X-Forwarded-*` and `Forwarded` headers and replaces those of other peers.",
      s.withDefault(s.list(cidr), []),
    ),
    loopbackPorts: s.field(
      "Ports on the loopback interface of the gateway that a `GatewayBackend` of a cluster may have, such as that of a sidecar; every author of backends can reach them. Those of listeners and of the gateway itself stay closed. Configuration files may always name loopback addresses.",
      s.withDefault(s.list(s.integer(1, 65_535), { max: 64 }), []),
    ),
    clusterStdio: s.field(
      "Lets a `GatewayBackend` of a cluster run programs in the gateway, as `stdio` servers of `mcp`: every author of backends can then do what the gateway can. Configuration files may always have such servers.",
      s.withDefault(s.boolean(), false),
    ),
    clusterCloudIdentity: s.field(
      "Lets a `GatewayBackend` of a cluster have the gateway's own identity at AWS, Google Cloud or Azure: every author of backends can then get its tokens. Configuration files may always have it.",
      s.withDefault(s.boolean(), false),
    ),
    egress: s.field(
      "Hosts that backends, and policies that fetch keys and metadata, may not connect to.",
      s.withDefault(egressSchema, {}),
    ),
    remoteMedia: s.field(
      "Images and files at `https` URLs in requests to LLMs, for providers that take bytes only, such as Bedrock.",
      s.withDefault(remoteMediaSchema, {}),
    ),
    kv: s.field(
      "Store that gateway processes share: for limits with `store: KV`, and to keep the keys and the metadata of identity providers across restarts.",
      s.optional(kvSchema),
    ),
    budgetWebhook: s.field(
      "Receives a POST with JSON when a budget of a key, a user or a team in the store reaches a percentage of its `notifyAt`.",
      s.optional(s.object({
        url: s.field(
          "Absolute `http` or `https` URL.",
          httpUrl,
        ),
        authorization: s.field(
          "`Authorization` of the request, such as `Bearer` and a token.",
          s.optional(s.secret()),
        ),
      })),
    ),
    vault: s.field(
      "Keeps tokens of callers sealed in `kv`, which it needs, so that replicas and workers share them.",
      s.optional(vaultSchema),
    ),
    connections: s.field(
      "Pages on which users connect their accounts at services behind backends with `credentials.oauth`; needs `vault`.",
      s.optional(connectionsSchema),
    ),
    sessionSecret: s.field(
      "Seals the endpoint in cookies and headers of `sessionPersistence`, at least 32 characters, the same for every replica. Without it, routes of a cluster have keys of their own; routes of files have keys that whoever knows their names can find, and with them the addresses of endpoints.",
      s.optional(sealingSecret),
    ),
    adminToken: s.field(
      "Bearer token that every path of the admin interface requires; at least 16 characters. Set it when `adminAddr` is not loopback.",
      s.optional(s.refine(
        s.secret(),
        s.rule(
          isAdminToken,
          "must have at least 16 characters: letters, digits, - . _ ~ + / and = at the end",
        ),
      )),
    ),
    adminTokenFile: s.field(
      "File with `adminToken` as its only line; read at startup.",
      s.optional(s.text(4096)),
    ),
    adminLogin: s.field(
      "Login of users at the admin interface and its web UI, with roles; besides `adminToken`, which has all rights.",
      s.optional(adminLoginSchema),
    ),
    lameDuck: s.field(
      "Time that the gateway goes on accepting requests when it stops, while readiness fails and responses end their connections, so that load balancers stop sending first.",
      s.withDefault(duration, "0s"),
    ),
    drainTimeout: s.field(
      "Time that requests in progress then have to finish; `0s` aborts them.",
      s.withDefault(duration, "5s"),
    ),
    workers: s.field(
      "Threads that serve requests, each on a core of its own; 1 serves them in the thread of the admin interface. Default: the processors that the control group grants, but at most one thread for each 256 MiB of its memory.",
      s.optional(s.integer(1, MAX_WORKERS)),
    ),
    reusePort: s.field(
      "Opens all ports with `SO_REUSEPORT`, so that a second gateway can share them and take over without a lost connection. Without it, a port that another process uses is an error.",
      s.withDefault(s.boolean(), false),
    ),
    policyApiGroup: s.field(
      "API group of `GatewayPolicy` and `GatewayBackend` in this file, if not `policy.gateway.internal`.",
      s.optional(preciseHostname),
    ),
    prices: s.field(
      "Prices of LLM models, for `rateLimit` budgets in money, logs and metrics.",
      s.withDefault(pricesSchema, {}),
    ),
    limits: s.field(
      "Size limits of requests, on all listeners.",
      s.withDefault(limitsSchema, {}),
    ),
  }),
  s.rule(
    ({ adminToken, adminTokenFile }) =>
      adminToken === undefined || adminTokenFile === undefined,
    'cannot be used together with "adminToken"',
    () => ["adminTokenFile"],
  ),
  s.rule(
    (settings) => ownPortAmong(settings) < 0,
    "is a port of the gateway itself, which backends must not reach",
    (settings) => ["loopbackPorts", ownPortAmong(settings)],
  ),
  s.rule(
    ({ kv, vault }) => vault === undefined || kv !== undefined,
    'needs "kv", the store',
    () => ["vault"],
  ),
  s.rule(
    ({ connections, vault }) =>
      connections === undefined || vault !== undefined,
    'needs "vault", which keeps what users have granted',
    () => ["connections"],
  ),
  s.rule(
    ({ otlp, tracing }) => tracing === undefined || otlp !== undefined,
    'needs "otlp", the collector',
    () => ["tracing"],
  ),
  s.rule(
    ({ otlp, metrics }) =>
      parseDuration(metrics.otlpInterval) === 0 || otlp !== undefined,
    'needs "otlp", the collector',
    () => ["metrics", "otlpInterval"],
  ),
  s.rule(
    ({ otlp, accessLog }) => accessLog.format !== "otlp" || otlp !== undefined,
    'needs "otlp", the collector',
    () => ["accessLog", "format"],
  ),
);

/** Returns the index of a port in `loopbackPorts` that the admin interface or the metrics have; -1 for none. */
function ownPortAmong(
  { adminAddr, statsAddr, loopbackPorts }: {
    readonly adminAddr: string;
    readonly statsAddr: string;
    readonly loopbackPorts: readonly number[];
  },
): number {
  const own = [adminAddr, statsAddr].map(parseAddress).map((address) =>
    address?.kind === "tcp" ? address.port : undefined
  );
  return loopbackPorts.findIndex((port) => own.includes(port));
}

function sensitiveHeader() {
  return s.named(
    "header name",
    s.refine(
      s.string(),
      s.rule(
        (name) => s.parse(headerName, name).ok,
        (name) =>
          `invalid sensitive header ${
            JSON.stringify(name)
          }: expected an HTTP header name`,
      ),
    ),
  );
}

/** Settings of the process. */
export type Settings = s.Infer<typeof settingsSchema>;
