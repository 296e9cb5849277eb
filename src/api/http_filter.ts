import { corsSchema } from "./cors.ts";
import { policyApiGroup } from "./group.ts";
import {
  headerName,
  headerValue,
  namespace,
  port,
  preciseHostname,
  referenceName,
} from "./scalars.ts";
import * as s from "./schema.ts";

const header = s.object({ name: headerName, value: headerValue });
const headers = s.refine(
  s.list(header, { max: 16 }),
  s.unique((item) => item.name.toLowerCase(), "header name"),
);

/** Headers to set, add and remove, in that order of precedence; Gateway API `HTTPHeaderFilter`. */
export const headerModifierSchema = s.object({
  set: s.optional(headers),
  add: s.optional(headers),
  remove: s.optional(s.list(headerName, { max: 16 })),
});

const replacementPath = s.pattern(
  /^(?:\/[^?#\s]*)?$/,
  'a path that starts with "/"',
  1024,
);

/** How to replace a path; Gateway API `HTTPPathModifier`. */
export const pathModifierSchema = s.variant("type", [
  s.object({
    type: s.literal("ReplaceFullPath"),
    replaceFullPath: replacementPath,
  }),
  s.object({
    type: s.literal("ReplacePrefixMatch"),
    replacePrefixMatch: replacementPath,
  }),
]);

/** Rewrites host and path before the upstream call; Gateway API `HTTPURLRewriteFilter`. */
export const urlRewriteSchema = s.object({
  hostname: s.optional(preciseHostname),
  path: s.optional(pathModifierSchema),
});

/** Answers with a redirect; parts left out are those of the request. Gateway API `HTTPRequestRedirectFilter`. */
export const requestRedirectSchema = s.object({
  scheme: s.optional(s.oneOf(["http", "https"])),
  hostname: s.optional(preciseHostname),
  port: s.optional(port),
  path: s.optional(pathModifierSchema),
  statusCode: s.withDefault(s.oneOf([301, 302, 303, 307, 308]), 302),
});

/** Fields that refer to a backend, and what group and kind mean when left out. */
export function backendObjectEntries(group: string, kind: string) {
  return {
    group: s.withDefault(s.string(), group),
    kind: s.withDefault(s.text(63), kind),
    name: referenceName,
    namespace: s.optional(namespace),
    port: s.optional(port),
  };
}

/** Sends a copy of some requests elsewhere and ignores the answer; Gateway API `HTTPRequestMirrorFilter`. */
function requestMirror(group: string, kind: string) {
  return s.refine(
    s.object({
      backendRef: s.object(backendObjectEntries(group, kind)),
      percent: s.optional(s.integer(0, 100)),
      fraction: s.optional(s.refine(
        s.object({
          numerator: s.integer(0, 2 ** 31 - 1),
          denominator: s.withDefault(s.integer(1, 2 ** 31 - 1), 100),
        }),
        s.rule(
          (fraction) => fraction.numerator <= fraction.denominator,
          '"numerator" cannot be larger than "denominator"',
        ),
      )),
    }),
    s.atMostOne("percent", "fraction"),
  );
}

const requestHeaderModifier = s.object({
  type: s.literal("RequestHeaderModifier"),
  requestHeaderModifier: headerModifierSchema,
});
const responseHeaderModifier = s.object({
  type: s.literal("ResponseHeaderModifier"),
  responseHeaderModifier: headerModifierSchema,
});
function httpFilter(mirrorGroup: string, mirrorKind: string) {
  return s.variant("type", [
    requestHeaderModifier,
    responseHeaderModifier,
    s.object({ type: s.literal("URLRewrite"), urlRewrite: urlRewriteSchema }),
    s.object({
      type: s.literal("RequestRedirect"),
      requestRedirect: requestRedirectSchema,
    }),
    s.object({
      type: s.literal("RequestMirror"),
      requestMirror: requestMirror(mirrorGroup, mirrorKind),
    }),
    s.object({ type: s.literal("CORS"), cors: corsSchema }),
  ], explainFilterType);
}

/** A filter of a rule; Gateway API `HTTPRouteFilter`. */
export const httpFilterSchema = httpFilter("", "Service");

/** A filter in the short file form, where backends are our own kind. */
export const shortFilterSchema = httpFilter(policyApiGroup, "GatewayBackend");

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
