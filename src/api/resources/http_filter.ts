import { corsSchema } from "../policies/cors_schema.ts";
import { POLICY_API_GROUP } from "./group.ts";
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

/** Headers to set, add and remove, in that order of precedence; Gateway API `HTTPHeaderFilter`. */
export const headerModifierSchema = s.object({
  set: s.field(
    "Headers that replace those of the same name.",
    s.optional(headers),
  ),
  add: s.field(
    "Headers that stand beside those of the same name.",
    s.optional(headers),
  ),
  remove: s.field(
    "Headers to leave out.",
    s.optional(s.list(headerName, { max: 16 })),
  ),
});

const replacementPath = s.named(
  "path",
  s.pattern(/^(?:\/[^?#\s]*)?$/, 'a path that starts with "/"', 1024),
);

function modifierType<const T extends string>(type: T) {
  return s.field(
    "Whether the whole path is replaced, or the prefix that the route matched.",
    s.literal(type),
  );
}

/** How to replace a path; Gateway API `HTTPPathModifier`. */
export const pathModifierSchema = s.variant("type", [
  s.object({
    type: modifierType("ReplaceFullPath"),
    replaceFullPath: s.field(
      "Path in place of the whole; the query stays.",
      replacementPath,
    ),
  }),
  s.object({
    type: modifierType("ReplacePrefixMatch"),
    replacePrefixMatch: s.field(
      "Path in place of the prefix; for a rule with one match, of type `PathPrefix`.",
      replacementPath,
    ),
  }),
]);

/** Rewrites host and path before the upstream call; Gateway API `HTTPURLRewriteFilter`. */
export const urlRewriteSchema = s.object({
  hostname: s.field(
    "`Host` that the backend sees; the client's when left out.",
    s.optional(preciseHostname),
  ),
  path: s.field(
    "Path that the backend sees; the client's when left out.",
    s.optional(pathModifierSchema),
  ),
});

/** Answers with a redirect; parts left out are those of the request. Gateway API `HTTPRequestRedirectFilter`. */
export const requestRedirectSchema = s.object({
  scheme: s.field(
    "Scheme to go to; that of the request when left out.",
    s.optional(s.oneOf(["http", "https"])),
  ),
  hostname: s.field(
    "Host to go to; that of the request when left out.",
    s.optional(preciseHostname),
  ),
  port: s.field(
    "Port to go to; that of `scheme`, else of the listener, when left out.",
    s.optional(port),
  ),
  path: s.field(
    "Path to go to; that of the request when left out.",
    s.optional(pathModifierSchema),
  ),
  statusCode: s.field(
    "Status of the answer.",
    s.withDefault(s.oneOf([301, 302, 303, 307, 308]), 302),
  ),
});

/** Fields that refer to a backend, and what group and kind mean when left out. */
export function backendObjectEntries(group: string, kind: string) {
  return {
    group: s.field(
      "API group of the backend; `policy.gateway.internal` is the one that works.",
      s.withDefault(s.string(), group),
    ),
    kind: s.field(
      "Kind of the backend; `GatewayBackend` is the one that works.",
      s.withDefault(s.text(63), kind),
    ),
    name: s.field("Name of the backend.", referenceName),
    namespace: s.field(
      "Namespace of the backend, which is that of the route.",
      s.optional(namespace),
    ),
    port: s.field("Port of the backend, to be sure.", s.optional(port)),
  };
}

const mirrorFraction = s.refine(
  s.object({
    numerator: s.field("Requests that are copied.", s.integer(0, 2 ** 31 - 1)),
    denominator: s.field(
      "Of how many.",
      s.withDefault(s.integer(1, 2 ** 31 - 1), 100),
    ),
  }),
  s.rule(
    (fraction) => fraction.numerator <= fraction.denominator,
    '"numerator" cannot be larger than "denominator"',
  ),
);

/** Sends a copy of some requests elsewhere and ignores the answer; Gateway API `HTTPRequestMirrorFilter`. */
function requestMirror(group: string, kind: string) {
  return s.refine(
    s.object({
      backendRef: s.field(
        "Backend that gets the copies.",
        s.object(backendObjectEntries(group, kind)),
      ),
      percent: s.field(
        "Share of requests that are copied.",
        s.optional(s.integer(0, 100)),
        100,
      ),
      fraction: s.field(
        "Share of requests that are copied, finer than `percent`.",
        s.optional(mirrorFraction),
      ),
    }),
    s.atMostOne("percent", "fraction"),
  );
}

function filterType<const T extends string>(type: T) {
  return s.field(
    "What the filter does; its settings are in the field of that name.",
    s.literal(type),
  );
}

const requestHeaderModifier = s.object({
  type: filterType("RequestHeaderModifier"),
  requestHeaderModifier: s.field(
    "Changes headers on their way to the backend.",
    headerModifierSchema,
  ),
});
const responseHeaderModifier = s.object({
  type: filterType("ResponseHeaderModifier"),
  responseHeaderModifier: s.field(
    "Changes headers on their way to the client.",
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
        "Changes host and path on their way to the backend.",
        urlRewriteSchema,
      ),
    }),
    s.object({
      type: filterType("RequestRedirect"),
      requestRedirect: s.field(
        "Answers with a redirect, without a backend.",
        requestRedirectSchema,
      ),
    }),
    s.object({
      type: filterType("RequestMirror"),
      requestMirror: s.field(
        "Sends copies of requests to another backend, whose answers are ignored.",
        requestMirror(mirrorGroup, mirrorKind),
      ),
    }),
    s.object({
      type: filterType("CORS"),
      cors: s.field(
        "Lets web pages of other origins call the route.",
        corsSchema,
      ),
    }),
  ], explainFilterType);
}

/** A filter of a rule; Gateway API `HTTPRouteFilter`. */
export const httpFilterSchema = httpFilter("", "Service");

/** A filter in the short file form, where backends are our own kind. */
export const shortFilterSchema = httpFilter(POLICY_API_GROUP, "GatewayBackend");

function explainFilterType(
  issue: { readonly received: string; readonly message: string },
): string {
  return issue.received === '"ExtensionRef"'
    ? 'filters of type "ExtensionRef" are not supported; attach a GatewayPolicy to the route instead'
    : issue.message;
}

/** A filter of a backend reference; only header modifiers make sense after the backend is chosen. */
export const backendFilterSchema = s.variant("type", [
  requestHeaderModifier,
  responseHeaderModifier,
]);

/** Headers to set, add and remove. */
export type HeaderModifier = s.Infer<typeof headerModifierSchema>;
/** How to replace a path. */
export type PathModifier = s.Infer<typeof pathModifierSchema>;
/** Host and path to send upstream. */
export type UrlRewrite = s.Infer<typeof urlRewriteSchema>;
/** A redirect to answer with. */
export type RequestRedirect = s.Infer<typeof requestRedirectSchema>;
/** Where to send copies of requests. */
export type RequestMirror = s.Infer<ReturnType<typeof requestMirror>>;
/** A filter of a rule. */
export type HttpFilter = s.Infer<typeof httpFilterSchema>;
/** A filter of a backend reference. */
export type BackendFilter = s.Infer<typeof backendFilterSchema>;
