import { listenAddress } from "./address.ts";
import { duration } from "./duration.ts";
import {
  headerName,
  httpUrl,
  isIpAddress,
  preciseHostname,
} from "./scalars.ts";
import * as s from "./schema.ts";

const levels = ["error", "warn", "info", "debug", "trace"] as const;

/** A log filter: a level, then a level per module: `info,http=debug`. */
const logFilter = s.pattern(
  new RegExp(
    `^(?:${levels.join("|")})(?:,[a-z][a-z0-9_/.-]*=(?:${levels.join("|")}))*$`,
  ),
  `a level (${levels.join(", ")}), then "<module>=<level>" separated by commas`,
);

const cidr = s.textThat(
  isCidr,
  'an address range such as "10.0.0.0/8" or "fd00::/8"',
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
  s.object({ path: s.optional(s.text(4096)), url: s.optional(httpUrl) }),
  s.exactlyOne("path", "url"),
);

const limits = s.object({
  maxHeaderBytes: s.withDefault(s.integer(1024, 1 << 20), 65536),
  maxHeaderCount: s.withDefault(s.integer(8, 1000), 128),
  maxBodyBytes: s.optional(s.integer(0, Number.MAX_SAFE_INTEGER)),
  maxBufferBytes: s.withDefault(s.integer(1024, 1 << 30), 2 * 1024 * 1024),
});

const logging = s.object({
  level: s.withDefault(logFilter, "info"),
  format: s.withDefault(s.oneOf(["text", "json"]), "text"),
});

const accessLog = s.object({
  enabled: s.withDefault(s.boolean(), true),
});

/** The `config` section: settings of the process, read at start only. */
export const settingsSchema = s.refine(
  s.object({
    adminAddr: s.withDefault(listenAddress, "localhost:15000"),
    statsAddr: s.withDefault(listenAddress, "localhost:15020"),
    sensitiveHeaders: s.withDefault(s.list(sensitiveHeader()), []),
    logging: s.withDefault(logging, {}),
    accessLog: s.withDefault(accessLog, {}),
    trustedProxies: s.withDefault(s.list(cidr), []),
    kv: s.optional(kv),
    adminToken: s.optional(s.secret()),
    adminTokenFile: s.optional(s.text(4096)),
    drainTimeout: s.withDefault(duration, "5s"),
    policyApiGroup: s.optional(preciseHostname),
    limits: s.withDefault(limits, {}),
  }),
  s.atMostOne("adminToken", "adminTokenFile"),
);

function sensitiveHeader() {
  return s.refine(
    s.string(),
    s.rule(
      (name) => s.parse(headerName, name).ok,
      (name) =>
        `invalid sensitive header ${
          JSON.stringify(name)
        }: expected an HTTP header name`,
    ),
  );
}

/** Settings of the process. */
export type Settings = s.Infer<typeof settingsSchema>;
