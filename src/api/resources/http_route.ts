import {
  duration,
  isDuration,
  parseDuration,
  positiveDuration,
} from "../schema/duration.ts";
import { GATEWAY_API_GROUP, gatewayApiVersion } from "./group.ts";
import {
  backendFilterSchema,
  backendObjectEntries,
  type HttpFilter,
  httpFilterSchema,
} from "./http_filter.ts";
import { type HttpMatch, httpMatchSchema } from "./http_match.ts";
import { resource } from "./resource.ts";
import {
  hostname,
  namespace,
  objectName,
  port,
  referenceName,
} from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

const parentRef = s.object({
  group: s.field(
    "API group of the parent.",
    s.withDefault(s.string(), GATEWAY_API_GROUP),
  ),
  kind: s.field("Kind of the parent.", s.withDefault(s.text(63), "Gateway")),
  namespace: s.field(
    "Namespace of the gateway; the route's own when left out.",
    s.optional(namespace),
  ),
  name: s.field("Name of the gateway.", referenceName),
  sectionName: s.field(
    "One listener by its name; all when left out.",
    s.optional(objectName),
  ),
  port: s.field(
    "Listeners of one port; all when left out.",
    s.optional(port),
  ),
});

/** How a rule uses a backend; Gateway API `BackendRef.weight`, `HTTPBackendRef.filters`. */
export const backendUseEntries = {
  weight: s.field(
    "Share of the requests, relative to the other backends; 0 for none.",
    s.withDefault(s.integer(0, 1_000_000), 1),
  ),
  filters: s.field(
    "Changes to requests that go to this backend, and their responses.",
    s.optional(s.list(backendFilterSchema, { max: 16 })),
  ),
};

const backendRef = s.object({
  ...backendObjectEntries("", "Service"),
  ...backendUseEntries,
});

/** Time limits of a request; `0s` means none. Gateway API `HTTPRouteTimeouts`. */
export const routeTimeoutsSchema = s.refine(
  s.object({
    request: s.field(
      "Until the response begins, the client's upload and all tries together, else 504; no limit when left out or `0s`.",
      s.optional(duration),
    ),
    backendRequest: s.field(
      "The same for each try.",
      s.optional(duration),
    ),
  }),
  s.rule(
    ({ request, backendRequest }) => {
      if (request === undefined || backendRequest === undefined) return true;
      if (!isDuration(request) || !isDuration(backendRequest)) return true;
      const limit = parseDuration(request);
      return limit === 0 || parseDuration(backendRequest) <= limit;
    },
    'expected no more than "request"',
    ["backendRequest"],
  ),
);

/** When to try again; Gateway API `HTTPRouteRetry`. */
export const routeRetrySchema = s.object({
  codes: s.field(
    "Statuses after which a request is sent again; so is one that did not reach the backend, and an idempotent one without an answer. Bodies over 64 KiB are sent once.",
    s.optional(s.list(s.integer(400, 599), { max: 32 })),
  ),
  attempts: s.field(
    "Tries after the first.",
    s.optional(s.integer(0, 10)),
    1,
  ),
  backoff: s.field(
    "Pause before the second try, doubled for each further one.",
    s.optional(positiveDuration),
    "25ms",
  ),
});

/** Fields of a rule that the short file form shares. */
export const ruleEntries = {
  matches: s.field(
    "Which requests: those that fit at least one match.",
    s.withDefault(
      s.list(httpMatchSchema, { max: 64 }),
      [{ path: { type: "PathPrefix", value: "/" } }],
    ),
  ),
  filters: s.field(
    "What happens to them on their way.",
    s.optional(s.list(httpFilterSchema, { max: 16 })),
  ),
  timeouts: s.field("Time limits.", s.optional(routeTimeoutsSchema)),
  retry: s.field(
    "When a request is sent again; never when left out.",
    s.optional(routeRetrySchema),
  ),
  sessionPersistence: s.unsupported(
    "Requests of a client stay with one backend.",
    s.optional(
      s.refused("session persistence is not supported; remove the field"),
    ),
  ),
};

type Rule = {
  readonly matches: readonly HttpMatch[];
  readonly filters?: readonly HttpFilter[];
  readonly backendRefs?: readonly unknown[];
};

const onceOnly: readonly HttpFilter["type"][] = [
  "RequestHeaderModifier",
  "ResponseHeaderModifier",
  "URLRewrite",
  "RequestRedirect",
  "CORS",
];

function hasFilter(rule: Rule, type: HttpFilter["type"]): boolean {
  return rule.filters?.some((filter) => filter.type === type) ?? false;
}

function replacesPrefix(rule: Rule): boolean {
  return rule.filters?.some((filter) =>
    filter.type === "URLRewrite" &&
      filter.urlRewrite.path?.type === "ReplacePrefixMatch" ||
    filter.type === "RequestRedirect" &&
      filter.requestRedirect.path?.type === "ReplacePrefixMatch"
  ) ?? false;
}

const ruleSchema = s.refine(
  s.object({
    name: s.field(
      "Name for the `sectionName` of policies.",
      s.optional(objectName),
    ),
    ...ruleEntries,
    backendRefs: s.field(
      "Where requests go, shared out by weight.",
      s.optional(s.list(backendRef, { max: 16 })),
    ),
  }),
  ...onceOnly.map((type) =>
    s.rule<Rule>(
      (rule) =>
        (rule.filters?.filter((filter) => filter.type === type).length ?? 0) <=
          1,
      `a second filter of type "${type}"; a route rule can have only one`,
      (rule) => [
        "filters",
        rule.filters?.findLastIndex((filter) => filter.type === type) ?? 0,
      ],
    )
  ),
  s.rule<Rule>(
    (rule) =>
      !(hasFilter(rule, "URLRewrite") && hasFilter(rule, "RequestRedirect")),
    'filters "URLRewrite" and "RequestRedirect" cannot be used together',
    ["filters"],
  ),
  s.rule<Rule>(
    (rule) =>
      !hasFilter(rule, "RequestRedirect") ||
      (rule.backendRefs?.length ?? 0) === 0,
    'a route that redirects ("RequestRedirect") cannot have backends',
    ["backendRefs"],
  ),
  s.rule<Rule>(
    (rule) =>
      !replacesPrefix(rule) ||
      (rule.matches.length === 1 &&
        rule.matches[0]?.path.type === "PathPrefix"),
    'a filter with "ReplacePrefixMatch" needs exactly one match, and of path type "PathPrefix"',
    ["matches"],
  ),
);

/** An `HTTPRoute` of the Gateway API. */
export const httpRouteSchema = resource(
  gatewayApiVersion,
  "HTTPRoute",
  s.object({
    parentRefs: s.field(
      "Gateways that the route attaches to.",
      s.withDefault(s.list(parentRef, { max: 32 }), []),
    ),
    hostnames: s.field(
      "Hosts that the route is for; every host of its listeners when left out.",
      s.optional(s.list(hostname, { max: 16 })),
    ),
    rules: s.field(
      "Which requests go where.",
      s.refine(
        s.withDefault(s.list(ruleSchema, { min: 1, max: 16 }), [{}]),
        s.rule(
          (rules) =>
            rules.reduce((sum, rule) => sum + rule.matches.length, 0) <= 128,
          "the rules of a route can have at most 128 matches in all",
        ),
      ),
    ),
  }),
);

/** A route: which requests of which gateways go to which backends, and how. */
export type HttpRoute = s.Infer<typeof httpRouteSchema>;
/** Gateway (and listener) that a route attaches to. */
export type ParentRef = s.Infer<typeof parentRef>;
/** One rule of a route. */
export type HttpRouteRule = s.Infer<typeof ruleSchema>;
/** A weighted backend of a rule. */
export type BackendRef = s.Infer<typeof backendRef>;
/** Time limits of a request. */
export type RouteTimeouts = s.Infer<typeof routeTimeoutsSchema>;
/** When to try again. */
export type RouteRetry = s.Infer<typeof routeRetrySchema>;
