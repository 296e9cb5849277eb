import { adminLoginSchema } from "./admin_login_schema.ts";
import { isAdminToken } from "./admin_token.ts";
import * as s from "./schema/schema.ts";
import { LogFilterError, parseLogFilter } from "../base/log_filter.ts";
import { isEgressEntry } from "../base/wire/egress_rules.ts";
import { listenAddress, parseAddress } from "./schema/address.ts";
import {
  duration,
  parseDuration,
  positiveDuration,
} from "./schema/duration.ts";
import {
  headerName,
  httpUrl,
  isIpAddress,
  preciseHostname,
  redisUrl,
} from "./schema/scalars.ts";
import { pricesSchema } from "./prices.ts";
import {
  accessLogSchema,
  metricsSchema,
  otlpSchema,
  tracingSchema,
} from "./telemetry_settings.ts";

/** Largest value of `config.workers`. */
export const MAX_WORKERS = 64;

/** A log filter, such as `info,http=debug`. */
const logFilter = s.named(
  "log filter",
  s.refine(
    s.string(),
    s.rule(
      (text) => logFilterFault(text) === undefined,
      (text) => logFilterFault(text) ?? "",
    ),
  ),
);

function logFilterFault(text: string): string | undefined {
  try {
    parseLogFilter(text);
    return undefined;
  } catch (error) {
    if (error instanceof LogFilterError) return error.message;
    throw error;
  }
}

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

const egressEntries = s.list(
  s.named(
    "host",
    s.checkedText(
      isEgressEntry,
      'an address, a range such as "10.0.0.0/8", a name, "*.example.com", or "*" for all',
    ),
  ),
  { max: 1000 },
);

const egress = s.object({
  deny: s.field(
    "Addresses and ranges, which the addresses of names must not have either, names, `*.example.com`, and `*` for every host that `allow` does not have. In a cluster also: the loopback interface, link-local addresses, metadata services of clouds, the API server, nodes, and the gateway itself.",
    s.withDefault(egressEntries, []),
  ),
  allow: s.field(
    "Exceptions. Of entries that match, the most specific decides; of equal ones, `deny`.",
    s.withDefault(egressEntries, []),
  ),
});

const kv = s.refine(
  s.object({
    path: s.field(
      "File of an embedded store; relative to the process's working directory.",
      s.optional(s.text(4096)),
    ),
    url: s.field("URL of a remote store.", s.optional(httpUrl)),
    redis: s.field(
      "URL of a Redis or Valkey server, `redis://` or `rediss://`, with user, password and database.",
      s.optional(redisUrl),
    ),
  }),
  s.exactlyOne("path", "url", "redis"),
);

const vault = s.refine(
  s.object({
    keys: s.field(
      "Keys of at least 32 characters, usually as `${NAME}`: the first one seals, all of them open.",
      s.optional(s.list(
        s.refine(
          s.secret(),
          s.rule(
            (secret) => secret.length >= 32,
            "must have at least 32 characters",
          ),
        ),
        { min: 1, max: 16 },
      )),
    ),
    keyFile: s.field(
      "File with such keys, one a line, in place of `keys`; a changed file applies within seconds.",
      s.optional(s.text(4096)),
    ),
    maxAge: s.field(
      "Time after which a record that nobody has changed is forgotten.",
      s.withDefault(positiveDuration, "2160h"),
    ),
  }),
  s.exactlyOne("keys", "keyFile"),
);

const connections = s.object({
  url: s.field(
    "URL of the pages on which users connect their accounts, such as `https://gateway.example.com/connections`. A listener has to serve its host; the path has no other use then.",
    s.refine(
      httpUrl,
      s.rule(
        isPageUrl,
        "must have a path, no query, and HTTPS unless it is this machine",
      ),
    ),
  ),
  logins: s.field(
    "Identity providers at which users log in on these pages: the issuers of the tokens that `jwtAuthentication` verifies.",
    s.list(
      s.refine(
        s.object({
          issuer: s.field("Issuer of the ID tokens, and of `iss`.", httpUrl),
          clientId: s.field(
            "Client ID of the gateway at the provider, with the redirect URI `<url>/login`.",
            s.text(2048),
          ),
          clientSecret: s.field(
            "Secret of the client, usually as `${NAME}`.",
            s.optional(s.secret()),
          ),
          clientSecretFile: s.field(
            "File with the secret, read at startup.",
            s.optional(s.text(4096)),
          ),
          caFile: s.field(
            "File with the only CAs that certificates of the provider are verified with, PEM, read at startup. Default: the system's CAs.",
            s.optional(s.text(4096)),
          ),
          scopes: s.field(
            "Scopes besides `openid`, such as `profile`, with which the pages show the name of the user.",
            s.withDefault(s.list(s.text(256), { max: 16 }), []),
          ),
        }),
        s.atMostOne("clientSecret", "clientSecretFile"),
      ),
      { min: 1, max: 16 },
    ),
  ),
});

function isPageUrl(text: string): boolean {
  const { protocol, hostname, pathname, search, hash, username } = new URL(
    text,
  );
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return (protocol === "https:" || isLoopback) && pathname !== "/" &&
    !pathname.endsWith("/") && search === "" && hash === "" && username === "";
}

const limits = s.object({
  maxHeaderBytes: s.field(
    "Maximum size of request line and headers, in bytes; then 431.",
    s.withDefault(s.integer(1024, 1 << 20), 65536),
  ),
  maxHeaderCount: s.field(
    "Maximum number of request headers; then 431.",
    s.withDefault(s.integer(8, 1000), 128),
  ),
  maxBodyBytes: s.field(
    "Maximum size of a request body, in bytes; then 413. Default: unlimited.",
    s.optional(s.integer(0, Number.MAX_SAFE_INTEGER)),
  ),
  maxBodyMemoryBytes: s.field(
    "Memory for the bodies of all requests that are read before they are forwarded, in bytes; then 503. A quarter of it is for bodies up to 64 KiB. Default: a quarter of the memory that the control group grants, at most 1 GiB.",
    s.optional(s.integer(1 << 20, Number.MAX_SAFE_INTEGER)),
  ),
  maxBufferBytes: s.field(
    "Maximum size of a body that the gateway buffers to read or change it, in bytes.",
    s.withDefault(s.integer(1024, 1 << 30), 2 * 1024 * 1024),
  ),
  maxLlmBodyBytes: s.field(
    "The same for requests to LLMs, which have images and documents in them.",
    s.withDefault(s.integer(1024, 1 << 30), 32 * 1024 * 1024),
  ),
});

const remoteMedia = s.object({
  fetch: s.field(
    "Fetches them; otherwise, such requests are rejected.",
    s.withDefault(s.boolean(), true),
  ),
  maxBytes: s.field(
    "Maximum size of one image or file, in bytes. All of a request have `limits.maxLlmBodyBytes`.",
    s.withDefault(s.integer(1024, 1 << 30), 8 * 1024 * 1024),
  ),
  timeout: s.field(
    "Time for all images and files of a request.",
    s.withDefault(positiveDuration, "10s"),
  ),
  trustedHosts: s.field(
    "Hosts that may have private addresses, as in URLs: `files.example.com` or `localhost:8443`.",
    s.withDefault(s.list(s.text(260), { max: 100 }), []),
  ),
});

const logging = s.object({
  level: s.field(
    "Least severe level to write (`error`, `warn`, `info`, `debug`, `trace`, or `off`), optionally followed by levels per module: `info,proxy=debug`. `POST /logging` changes it at run time.",
    s.withDefault(logFilter, "info"),
  ),
  format: s.field(
    "Format of log and access log: `text`, or one JSON object per line.",
    s.withDefault(s.oneOf(["text", "json"]), "text"),
  ),
});

const failureMemory = s.object({
  enabled: s.field(
    "Records failed requests.",
    s.withDefault(s.boolean(), true),
  ),
  size: s.field(
    "Maximum number of records, for each worker; new ones replace those of the reason and route that have the most.",
    s.withDefault(s.integer(1, 10_000), 256),
  ),
});

const requestMemory = s.object({
  enabled: s.field("Records requests.", s.withDefault(s.boolean(), true)),
  size: s.field(
    "Maximum number of records; new ones replace those of the route that has the most.",
    s.withDefault(s.integer(1, 10_000), 1000),
  ),
});

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
    logging: s.field("The log, on standard error.", s.withDefault(logging, {})),
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
      s.withDefault(failureMemory, {}),
    ),
    requestMemory: s.field(
      "Records of recent requests that succeeded, up to 50 per second, for the page Requests of the web UI and `GET /requests`, without bodies and credentials.",
      s.withDefault(requestMemory, {}),
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
      s.withDefault(egress, {}),
    ),
    remoteMedia: s.field(
      "Images and files at `https` URLs in requests to LLMs, for providers that take bytes only, such as Bedrock.",
      s.withDefault(remoteMedia, {}),
    ),
    kv: s.field(
      "Store that gateway processes share: for limits with `store: KV`, and to keep the keys and the metadata of identity providers across restarts.",
      s.optional(kv),
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
      s.optional(vault),
    ),
    connections: s.field(
      "Pages on which users connect their accounts at services behind backends with `credentials.oauth`; needs `vault`.",
      s.optional(connections),
    ),
    sessionSecret: s.field(
      "Seals the endpoint in cookies and headers of `sessionPersistence`, at least 32 characters, the same for every replica. Without it, routes of a cluster have keys of their own; routes of files have keys that whoever knows their names can find, and with them the addresses of endpoints.",
      s.optional(s.refine(
        s.secret(),
        s.rule(
          (secret) => secret.length >= 32,
          "must have at least 32 characters",
        ),
      )),
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
      s.withDefault(limits, {}),
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
