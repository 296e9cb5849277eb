import {
  duration,
  isDuration,
  parseDuration,
  positiveDuration,
} from "../schema/duration.ts";
import { groupEntries } from "../rules/backend_group.ts";
import { GATEWAY_API_GROUP, gatewayApiVersion } from "../schema/group.ts";
import {
  backendFilterSchema,
  backendObjectEntries,
  type HttpFilter,
  httpFilterSchema,
} from "../rules/http_filter.ts";
import { type HttpMatch, httpMatchSchema } from "../rules/http_match.ts";
import { resource } from "./resource.ts";
import { sessionPersistenceSchema } from "../rules/session_persistence.ts";
import {
  hostname,
  namespace,
  objectName,
  port,
  referenceName,
} from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

/** A gateway or listener set, or one of its listeners, that a route attaches to. */
const parentRef = s.object({
  group: s.field(
    "API group of the parent.",
    s.withDefault(s.string(), GATEWAY_API_GROUP),
  ),
  kind: s.field(
    "Kind of the parent: `Gateway` or `ListenerSet`.",
    s.withDefault(s.text(63), "Gateway"),
  ),
  namespace: s.field(
    "Namespace of the parent. Default: the route's own.",
    s.optional(namespace),
  ),
  name: s.field("Name of the parent.", referenceName),
  sectionName: s.field(
    "Name of a listener. Default: all listeners.",
    s.optional(objectName),
  ),
  port: s.field("Port of listeners. Default: all ports.", s.optional(port)),
});

/** Fields of every kind of route: its gateways (Gateway API `CommonRouteSpec`) and hosts. */
export const routeEntries = {
  parentRefs: s.field(
    "Gateways and listener sets that the route attaches to.",
    s.withDefault(s.list(parentRef, { max: 32 }), []),
  ),
  hostnames: s.field(
    "Hosts of the route. Default: every host of its listeners.",
    s.optional(s.list(hostname, { max: 16 })),
  ),
};

/** Weight and filters of a backend in a rule; Gateway API `BackendRef.weight`, `HTTPBackendRef.filters`. */
export const backendUseEntries = {
  weight: s.field(
    "Share of the requests, relative to the other backends; 0 means none.",
    s.withDefault(s.integer(0, 1_000_000), 1),
  ),
  priority: s.field(
    "Backends with a higher number get requests only while those with a lower one fail.",
    s.optional(s.integer(0, 15)),
    0,
  ),
  filters: s.field(
    "Changes to the requests to this backend and to its responses.",
    s.optional(s.list(backendFilterSchema, { max: 16 })),
  ),
};

/** A weighted backend of a rule. */
export const backendRef = s.object({
  ...backendObjectEntries("", "Service"),
  ...backendUseEntries,
});

/** Time limits of a request; `0s` means unlimited. Gateway API `HTTPRouteTimeouts`. */
export const routeTimeoutsSchema = s.refine(
  s.object({
    request: s.field(
      "Time limit until the response begins, including the client's upload and all attempts; then 504. Default, and `0s`: unlimited.",
      s.optional(duration),
    ),
    backendRequest: s.field(
      "The same limit for each attempt.",
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

/** Retries of failed requests; Gateway API `HTTPRouteRetry`. */
export const routeRetrySchema = s.object({
  codes: s.field(
    "Statuses that are retried. Requests that did not reach the backend, and idempotent requests without a response, are always retried. Requests with a body over 64 KiB are never retried.",
    s.optional(s.list(s.integer(400, 599), { max: 32 })),
  ),
  on: s.field(
    "Failures after which requests of every method are retried, not only idempotent ones, although the backend may have processed them.",
    s.optional(s.list(s.oneOf(["Closed", "Timeout"]), { max: 2 })),
  ),
  attempts: s.field(
    "Maximum number of retries.",
    s.optional(s.integer(0, 10)),
    1,
  ),
  backoff: s.field(
    "Delay before the first retry; doubles with each further one.",
    s.optional(positiveDuration),
    "25ms",
  ),
});

/** Description of `matches`. */
export const MATCHES_DESCRIPTION =
  "Requests that the rule applies to: those that satisfy at least one match.";

/** The matches of a rule without any. */
export const defaultMatches: [HttpMatch] = [
  { path: { type: "PathPrefix", value: "/" } },
];

/** Fields of a rule, shared with the short file form. */
export const ruleEntries = {
  matches: s.field(
    MATCHES_DESCRIPTION,
    s.withDefault(s.list(httpMatchSchema, { max: 64 }), defaultMatches),
  ),
  filters: s.field(
    "Changes to requests and responses.",
    s.optional(s.list(httpFilterSchema, { max: 16 })),
  ),
  timeouts: s.field(
    "Time limits of requests.",
    s.optional(routeTimeoutsSchema),
  ),
  retry: s.field(
    "Retries of failed requests. Default: none.",
    s.optional(routeRetrySchema),
  ),
  sessionPersistence: s.field(
    "Keeps the requests of a client at one endpoint. Default: any endpoint gets them.",
    s.optional(sessionPersistenceSchema),
  ),
  ...groupEntries,
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
      "Name; policies refer to it by `sectionName`.",
      s.optional(objectName),
    ),
    ...ruleEntries,
    backendRefs: s.field(
      "Backends that receive the requests, in proportion to their weights.",
      s.optional(s.list(backendRef, { max: 16 })),
    ),
  }),
  ...onceOnly.map((type) =>
    s.rule<Rule>(
      (rule) =>
        (rule.filters?.filter((filter) => filter.type === type).length ?? 0) <=
          1,
      `second filter of type "${type}"; a route rule can have only one`,
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
    '"ReplacePrefixMatch" requires exactly one match, of path type "PathPrefix"',
    ["matches"],
  ),
);

/** An `HTTPRoute` of the Gateway API. */
export const httpRouteSchema = resource(
  gatewayApiVersion,
  "HTTPRoute",
  s.object({
    ...routeEntries,
    rules: s.field(
      "Rules that select requests and their backends.",
      s.refine(
        s.withDefault(s.list(ruleSchema, { min: 1, max: 16 }), [{}]),
        s.rule(
          (rules) =>
            rules.reduce((sum, rule) => sum + rule.matches.length, 0) <= 128,
          "the rules of a route can have at most 128 matches in total",
        ),
        s.unique(({ name }, index) => name ?? index, "rule name"),
      ),
    ),
  }),
);

/** An `HTTPRoute` as it is written. */
export type HttpRouteResource = s.Infer<typeof httpRouteSchema>;
/** A route: maps requests of gateways to backends; its kind is that of the resource it comes from. */
export type HttpRoute =
  & Omit<HttpRouteResource, "kind">
  & { readonly kind: "HTTPRoute" | "GRPCRoute" };
/** A gateway or listener set, or one of its listeners, that a route attaches to. */
export type ParentRef = s.Infer<typeof parentRef>;
/** One rule of a route. */
export type HttpRouteRule = s.Infer<typeof ruleSchema>;
/** A weighted backend of a rule. */
export type BackendRef = s.Infer<typeof backendRef>;
/** Time limits of a request. */
export type RouteTimeouts = s.Infer<typeof routeTimeoutsSchema>;
/** Retries of failed requests. */
export type RouteRetry = s.Infer<typeof routeRetrySchema>;
