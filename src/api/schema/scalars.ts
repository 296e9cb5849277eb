import * as s from "./schema.ts";

/** A header name: an RFC 9110 token. */
export const headerName = s.named(
  "header name",
  s.pattern(
    /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/,
    'an HTTP header name such as "x-request-id"',
    256,
  ),
);

/**
 * A header value: printable, without line breaks or surrounding whitespace. Messages do not show it. The field `name` beside it is
 * the name of the header.
 */
export const headerValue = s.withPrivacy(
  "headerText",
  s.refine(
    s.text(4096, 0),
    s.rule(
      (value) => value.trim() === value && !/[^\P{Cc}\t]/u.test(value),
      "a header value cannot contain line breaks or control characters, or begin or end with whitespace",
    ),
  ),
);

/** A TCP port. */
export const port = s.integer(1, 65535);

/** A resource name: a Kubernetes name that may also contain capitals and `_`. */
export const objectName = s.named(
  "name",
  s.pattern(
    /^[A-Za-z0-9](?:[-A-Za-z0-9._]*[A-Za-z0-9])?$/,
    'a name of letters, digits, "-", "_" and "."',
  ),
);

/** A reference to a resource, or to a generated backend such as `mcp/backend0`. */
export const referenceName = s.named("name", s.text(253));

/** A Kubernetes namespace. */
export const namespace = s.named(
  "namespace",
  s.pattern(
    /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/,
    'a namespace of lower-case letters, digits and "-"',
    63,
  ),
);

const LABEL = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?";
const hostPattern = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);

/** Reports whether `text` is an IPv4 address, or an IPv6 address without brackets. */
export function isIpAddress(text: string): boolean {
  return isIpv4(text) || isIpv6(text);
}

function isIpv4(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 4 &&
    parts.every((part) =>
      /^(?:0|[1-9][0-9]{0,2})$/.test(part) && Number(part) < 256
    );
}

function isIpv6(text: string): boolean {
  return /^[0-9a-fA-F:.]+$/.test(text) && text.includes(":") &&
    URL.canParse(`http://[${text}]/`);
}

function isHostname(text: string): boolean {
  return text.length <= 253 && hostPattern.test(text) &&
    !/^[0-9.]+$/.test(text);
}

/** A DNS name in lower case, without port; Gateway API `PreciseHostname`. */
export const preciseHostname = s.named(
  "host name",
  s.checkedText(
    isHostname,
    'a host name in lower case such as "api.example.com"',
  ),
);

/** A DNS name, optionally with a `*.` prefix; Gateway API `Hostname`. */
export const hostname = s.named(
  "host name pattern",
  s.checkedText(
    (text) => isHostname(text.startsWith("*.") ? text.slice(2) : text),
    'a host name in lower case such as "api.example.com" or "*.example.com"',
  ),
);

/** A host to connect to: a DNS name in any case or an IP address, without scheme, port or brackets. */
export const upstreamHost = s.named(
  "host name or IP address",
  s.checkedText(
    isUpstreamHost,
    "a host name or IP address without scheme, port or path",
  ),
);

/** Reports whether `text` is a host to connect to. */
export function isUpstreamHost(text: string): boolean {
  return isIpAddress(text) ||
    isHostname(text.toLowerCase().replaceAll("_", "-"));
}

/** An absolute `http` or `https` URL. */
export const httpUrl = s.withPrivacy(
  "url",
  s.named(
    "URL",
    s.checkedText(
      (text) => URL.canParse(text) && /^https?:\/\//i.test(text),
      'a URL such as "https://example.com/"',
    ),
  ),
);

/** Address of a Redis or Valkey server. */
export const redisUrl = s.withPrivacy(
  "url",
  s.named(
    "Redis URL",
    s.checkedText(
      (text) => URL.canParse(text) && /^rediss?:\/\//i.test(text),
      'a URL such as "redis://redis.example.com:6379"',
    ),
  ),
);

/** A URL path without query. */
export const urlPath = s.named(
  "path",
  s.pattern(/^\/[^?#\s]*$/, 'a path that starts with "/"', 1024),
);

/** Source of a Common Expression Language (CEL) expression. */
export const celExpression = s.withPrivacy(
  "text",
  s.named("CEL expression", s.text(16384)),
);
