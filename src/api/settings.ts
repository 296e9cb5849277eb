import { LogFilterError, parseLogFilter } from "../base/log_filter.ts";
import { listenAddress } from "./schema/address.ts";
import { isAdminToken } from "./admin_token.ts";
import { duration } from "./schema/duration.ts";
import {
  headerName,
  httpUrl,
  isIpAddress,
  preciseHostname,
} from "./schema/scalars.ts";
import * as s from "./schema/schema.ts";

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
  s.textThat(isCidr, 'an address range such as "10.0.0.0/8" or "fd00::/8"'),
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

const kv = s.refine(
  s.object({
    path: s.field(
      "File of an embedded store; a relative path starts from the working directory of the process.",
      s.optional(s.text(4096)),
    ),
    url: s.field("Address of a remote store.", s.optional(httpUrl)),
  }),
  s.exactlyOne("path", "url"),
);

const limits = s.object({
  maxHeaderBytes: s.field(
    "Bytes of request line and headers together; more is a 431.",
    s.withDefault(s.integer(1024, 1 << 20), 65536),
  ),
  maxHeaderCount: s.field(
    "Headers of a request; more is a 431.",
    s.withDefault(s.integer(8, 1000), 128),
  ),
  maxBodyBytes: s.field(
    "Bytes of a request body, more is a 413; no limit when left out.",
    s.optional(s.integer(0, Number.MAX_SAFE_INTEGER)),
  ),
  maxBufferBytes: s.field(
    "Bytes of a body that the gateway may hold in memory, where something in it has to be read or changed.",
    s.withDefault(s.integer(1024, 1 << 30), 2 * 1024 * 1024),
  ),
});

const logging = s.object({
  level: s.field(
    "Least severe level that is written (`error`, `warn`, `info`, `debug`, `trace`, or `off` for none), then exceptions by module: `info,proxy=debug`. `POST /logging` changes it at runtime.",
    s.withDefault(logFilter, "info"),
  ),
  format: s.field(
    "How log and access log are written: for people, or one JSON object per line.",
    s.withDefault(s.oneOf(["text", "json"]), "text"),
  ),
});

const accessLog = s.object({
  enabled: s.field(
    "Whether each request is a line on standard output.",
    s.withDefault(s.boolean(), true),
  ),
});

const failureMemory = s.object({
  enabled: s.field(
    "Whether requests that fail are remembered at all.",
    s.withDefault(s.boolean(), true),
  ),
  size: s.field(
    "How many; later ones replace the oldest.",
    s.withDefault(s.integer(1, 10_000), 256),
  ),
});

/** The `config` section: settings of the process, read at start only. */
export const settingsSchema = s.refine(
  s.object({
    adminAddr: s.field(
      "Where the admin interface listens: `ip:port`, `localhost:port`, `unix:<path>` or `off`.",
      s.withDefault(listenAddress, "localhost:15000"),
    ),
    statsAddr: s.field(
      "Where metrics and health are served, written like `adminAddr`.",
      s.withDefault(listenAddress, "localhost:15020"),
    ),
    sensitiveHeaders: s.field(
      "Headers to redact in debug output, besides `Authorization`, `Proxy-Authorization`, `Cookie`, `Set-Cookie`, `X-Api-Key`, `Api-Key`, `X-Goog-Api-Key`, `Ocp-Apim-Subscription-Key`, `X-Amz-Security-Token` and those in which policies look for credentials; backends still get them.",
      s.withDefault(s.list(sensitiveHeader()), []),
    ),
    logging: s.field(
      "The log, on standard error.",
      s.withDefault(logging, {}),
    ),
    accessLog: s.field(
      "The access log, on standard output.",
      s.withDefault(accessLog, {}),
    ),
    failureMemory: s.field(
      "The memory of requests that failed, for `gwctl explain`: without bodies and credentials.",
      s.withDefault(failureMemory, {}),
    ),
    trustedProxies: s.field(
      "Addresses of proxies in front of the gateway: what they say in `X-Forwarded-*` and `Forwarded` is kept, what others say is replaced.",
      s.withDefault(s.list(cidr), []),
    ),
    kv: s.field(
      "Store that processes share: for limits with `store: KV`, and for keys of identity providers, which outlive a restart in it.",
      s.optional(kv),
    ),
    adminToken: s.field(
      "Bearer token that the admin interface asks for, on every path; at least 16 characters. Set it when `adminAddr` is not loopback.",
      s.optional(
        s.refine(
          s.secret(),
          s.rule(
            isAdminToken,
            "must have at least 16 characters: letters, digits, - . _ ~ + / and = at the end",
          ),
        ),
      ),
    ),
    adminTokenFile: s.field(
      "File that holds `adminToken` as its only line; read at the start.",
      s.optional(s.text(4096)),
    ),
    drainTimeout: s.field(
      "How long a stop waits for requests under way; `0s` cuts them.",
      s.withDefault(duration, "5s"),
    ),
    policyApiGroup: s.field(
      "API group under which this file writes `GatewayPolicy` and `GatewayBackend`, if not `policy.gateway.internal`.",
      s.optional(preciseHostname),
    ),
    limits: s.field(
      "Sizes that requests are held to, on every listener.",
      s.withDefault(limits, {}),
    ),
  }),
  s.rule(
    ({ adminToken, adminTokenFile }) =>
      adminToken === undefined || adminTokenFile === undefined,
    'cannot stand together with "adminToken": choose one',
    () => ["adminTokenFile"],
  ),
);

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
