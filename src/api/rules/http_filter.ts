import { corsSchema } from "./cors_filter.ts";
import { POLICY_API_GROUP } from "../schema/group.ts";
import {
  headerName,
  headerValue,
  namespace,
  port,
  preciseHostname,
  referenceName,
} from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

const header = s.object({
  name: s.field("Header name.", headerName),
  value: s.field("Header value.", headerValue),
});
const headers = s.refine(
  s.list(header, { max: 16 }),
  s.unique((item) => item.name.toLowerCase(), "header name"),
);

/** Headers to set, add and remove, in that order; Gateway API `HTTPHeaderFilter`. */
export const headerModifierSchema = s.object({
  set: s.field(
    "Headers to set; existing values are replaced.",
    s.optional(headers),
  ),
  add: s.field(
    "Headers to add; existing values are kept.",
    s.optional(headers),
  ),
  remove: s.field(
    "Headers to remove.",
    s.optional(s.list(headerName, { max: 16 })),
  ),
});

const replacementPath = s.named(
  "path",
  s.pattern(/^(?:\/[^?#\s]*)?$/, 'a path that starts with "/"', 1024),
);

function modifierType<const T extends string>(type: T) {
  return s.field(
    "Part of the path to replace: all of it, or the prefix that the route matched.",
    s.literal(type),
  );
}

/** Replacement of a path; Gateway API `HTTPPathModifier`. */
export const pathModifierSchema = s.variant("type", [
  s.object({
    type: modifierType("ReplaceFullPath"),
    replaceFullPath: s.field(
      "New path; the query is kept.",
      replacementPath,
    ),
  }),
  s.object({
    type: modifierType("ReplacePrefixMatch"),
    replacePrefixMatch: s.field(
      "New prefix; requires a rule with exactly one match, of type `PathPrefix`.",
      replacementPath,
    ),
  }),
]);

/** Rewrites host and path before the upstream call; Gateway API `HTTPURLRewriteFilter`. */
export const urlRewriteSchema = s.object({
  hostname: s.field(
    "New `Host`. Default: the client's.",
    s.optional(preciseHostname),
  ),
  path: s.field(
    "New path. Default: the client's.",
    s.optional(pathModifierSchema),
  ),
});

/** Responds with a redirect; omitted parts are those of the request. Gateway API `HTTPRequestRedirectFilter`. */
export const requestRedirectSchema = s.object({
  scheme: s.field(
    "Scheme of the target. Default: that of the request.",
    s.optional(s.oneOf(["http", "https"])),
  ),
  hostname: s.field(
    "Host of the target. Default: that of the request.",
    s.optional(preciseHostname),
  ),
  port: s.field(
    "Port of the target. Default: that of `scheme` if set, else the listener's.",
    s.optional(port),
  ),
  path: s.field(
    "Path of the target. Default: that of the request.",
    s.optional(pathModifierSchema),
  ),
  statusCode: s.field(
    "Status of the response.",
    s.withDefault(s.oneOf([301, 302, 303, 307, 308]), 302),
  ),
});

/** Fields of a backend reference with the given defaults. */
export function backendObjectEntries(group: string, kind: string) {
  return {
    group: s.field(
      "API group of the backend; only `policy.gateway.internal` is supported.",
      s.withDefault(s.string(), group),
    ),
    kind: s.field(
      "Kind of the backend; only `GatewayBackend` is supported.",
      s.withDefault(s.text(63), kind),
    ),
    name: s.field("Name of the backend.", referenceName),
    namespace: s.field(
      "Namespace of the backend; must be that of the route.",
      s.optional(namespace),
    ),
    port: s.field(
      "Port of the backend; must match the backend's own.",
      s.optional(port),
    ),
  };
}

const mirrorFraction = s.refine(
  s.object({
    numerator: s.field(
      "Number of requests to copy.",
      s.integer(0, 2 ** 31 - 1),
    ),
    denominator: s.field(
      "Out of this many requests.",
      s.withDefault(s.integer(1, 2 ** 31 - 1), 100),
    ),
  }),
  s.rule(
    (fraction) => fraction.numerator <= fraction.denominator,
    '"numerator" cannot be larger than "denominator"',
  ),
);

/** Sends copies of requests to another backend and ignores the responses; Gateway API `HTTPRequestMirrorFilter`. */
function requestMirror(group: string, kind: string) {
  return s.refine(
    s.object({
      backendRef: s.field(
        "Backend that receives the copies.",
        s.object(backendObjectEntries(group, kind)),
      ),
      percent: s.field(
        "Percentage of requests to copy.",
        s.optional(s.integer(0, 100)),
        100,
      ),
      fraction: s.field(
        "Fraction of requests to copy, finer than `percent`.",
        s.optional(mirrorFraction),
      ),
    }),
    s.atMostOne("percent", "fraction"),
  );
}

function filterType<const T extends string>(type: T) {
  return s.field(
    "Type of the filter; the field of the same name has its settings.",
    s.literal(type),
  );
}

const requestHeaderModifier = s.object({
  type: filterType("RequestHeaderModifier"),
  requestHeaderModifier: s.field(
    "Changes request headers.",
    headerModifierSchema,
  ),
});
const responseHeaderModifier = s.object({
  type: filterType("ResponseHeaderModifier"),
  responseHeaderModifier: s.field(
    "Changes response headers.",
    headerModifierSchema,
  ),
});

function httpFilter(mirrorGroup: string, mirrorKind: string) {
  return s.variant("type", [
    requestHeaderModifier,
    responseHeaderModifier,
    s.object({
      type: filterType("URLRewrite"),
      urlRewrite: s.field(
        "Changes host and path of requests.",
        urlRewriteSchema,
      ),
    }),
    s.object({
      type: filterType("RequestRedirect"),
      requestRedirect: s.field(
        "Responds with a redirect, without a backend.",
        requestRedirectSchema,
      ),
    }),
    s.object({
      type: filterType("RequestMirror"),
      requestMirror: s.field(
        "Sends copies of requests to another backend and ignores the responses.",
        requestMirror(mirrorGroup, mirrorKind),
      ),
    }),
    s.object({
      type: filterType("CORS"),
      cors: s.field(
        "Allows cross-origin requests from browsers.",
        corsSchema,
      ),
    }),
  ], explainFilterType);
}

/** A filter of a rule; Gateway API `HTTPRouteFilter`. */
export const httpFilterSchema = httpFilter("", "Service");

/** A filter in the short file form, where `GatewayBackend` is the default kind. */
export const shortFilterSchema = httpFilter(POLICY_API_GROUP, "GatewayBackend");

function explainFilterType(
  issue: { readonly received: string; readonly message: string },
): string {
  switch (issue.received) {
    case '"ExtensionRef"':
      return 'filters of type "ExtensionRef" are not supported; attach a GatewayPolicy to the route instead';
    case '"ExternalAuth"':
      return 'filters of type "ExternalAuth" are not supported; attach a GatewayPolicy with extAuthz to the route instead';
    default:
      return issue.message;
  }
}

/** A filter of a backend reference; only header modifiers are possible after the backend is selected. */
export const backendFilterSchema = s.variant("type", [
  requestHeaderModifier,
  responseHeaderModifier,
]);

/** Headers to set, add and remove. */
export type HeaderModifier = s.Infer<typeof headerModifierSchema>;
/** Replacement of a path. */
export type PathModifier = s.Infer<typeof pathModifierSchema>;
/** New host and path of upstream requests. */
export type UrlRewrite = s.Infer<typeof urlRewriteSchema>;
/** A redirect response. */
export type RequestRedirect = s.Infer<typeof requestRedirectSchema>;
/** Destination and share of request copies. */
export type RequestMirror = s.Infer<ReturnType<typeof requestMirror>>;
/** A filter of a rule. */
export type HttpFilter = s.Infer<typeof httpFilterSchema>;
/** A filter of a backend reference. */
export type BackendFilter = s.Infer<typeof backendFilterSchema>;
