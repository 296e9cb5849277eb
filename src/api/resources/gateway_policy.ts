import { apiKeyAuthenticationSchema } from "../policies/api_key_schema.ts";
import { authorizationSchema } from "../policies/authorization_schema.ts";
import { basicAuthenticationSchema } from "../policies/basic_schema.ts";
import { corsSchema } from "../policies/cors_schema.ts";
import {
  GATEWAY_API_GROUP,
  POLICY_API_GROUP,
  policyApiVersion,
} from "./group.ts";
import {
  headerModifierSchema,
  requestRedirectSchema,
  urlRewriteSchema,
} from "./http_filter.ts";
import { routeRetrySchema, routeTimeoutsSchema } from "./http_route.ts";
import { jwtAuthenticationSchema } from "../policies/jwt_schema.ts";
import { rateLimitSchema } from "../policies/rate_limit_schema.ts";
import { resource } from "./resource.ts";
import { objectName, referenceName } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";
import { transformationSchema } from "../policies/transformation_schema.ts";

/** Answers at once, without a backend. */
export const directResponseSchema = s.object({
  status: s.field("Status of the answer.", s.integer(200, 599)),
  body: s.field("Body, as plain text.", s.optional(s.text(65536, 0))),
});

/** What runs on the requests of a route or gateway; one field per policy kind. */
export const trafficSchema = s.object({
  cors: s.field(
    "Lets web pages of other origins call the route.",
    s.optional(corsSchema),
  ),
  jwtAuthentication: s.field(
    "Clients show a JSON Web Token.",
    s.optional(jwtAuthenticationSchema),
  ),
  basicAuthentication: s.field(
    "Clients show user name and password.",
    s.optional(basicAuthenticationSchema),
  ),
  apiKeyAuthentication: s.field(
    "Clients show a key of their own.",
    s.optional(apiKeyAuthenticationSchema),
  ),
  authorization: s.field(
    "Rules that a request has to satisfy; those of gateway and route all apply.",
    s.optional(authorizationSchema),
  ),
  rateLimit: s.field(
    "Budgets of requests or LLM tokens; those of gateway and route all apply.",
    s.optional(rateLimitSchema),
  ),
  transformation: s.field(
    "Changes whose values are expressions.",
    s.optional(transformationSchema),
  ),
  requestHeaderModifier: s.field(
    "Changes headers on their way to the backend.",
    s.optional(headerModifierSchema),
  ),
  responseHeaderModifier: s.field(
    "Changes headers on their way to the client.",
    s.optional(headerModifierSchema),
  ),
  urlRewrite: s.field(
    "Changes host and path on their way to the backend.",
    s.optional(urlRewriteSchema),
  ),
  requestRedirect: s.field(
    "Answers with a redirect, without a backend.",
    s.optional(requestRedirectSchema),
  ),
  directResponse: s.field(
    "Answers with a status and a text, without a backend.",
    s.optional(directResponseSchema),
  ),
  timeouts: s.field("Time limits.", s.optional(routeTimeoutsSchema)),
  retry: s.field(
    "When a request is sent again; never when left out.",
    s.optional(routeRetrySchema),
  ),
});

/** What runs on the requests to a backend. */
export const backendPolicySchema = s.object({
  transformation: s.field(
    "Changes whose values are expressions.",
    s.optional(transformationSchema),
  ),
});

const targetEntries = {
  name: s.field("Name of the resource.", referenceName),
  sectionName: s.field(
    "One listener of a gateway, or one named rule of a route; all when left out.",
    s.optional(objectName),
  ),
};

const targetRef = s.variant("kind", [
  target(GATEWAY_API_GROUP, "Gateway"),
  target(GATEWAY_API_GROUP, "HTTPRoute"),
  target(POLICY_API_GROUP, "GatewayBackend"),
]);

function target<const G extends string, const K extends string>(
  group: G,
  kind: K,
) {
  return s.object({
    group: s.field(
      "API group of the kind.",
      s.withDefault(s.literal(group), group),
    ),
    kind: s.field("Kind of the resource.", s.literal(kind)),
    ...targetEntries,
  });
}

const gatewayPhaseKinds: readonly string[] = [
  "cors",
  "jwtAuthentication",
  "basicAuthentication",
  "apiKeyAuthentication",
  "authorization",
  "transformation",
];

/** Fields of a policy's `spec`; named policies of the short file form have them too. */
export const policyEntries = {
  targetRefs: s.field(
    "What the policy is attached to; the more specific target wins, field by field.",
    s.list(targetRef, { min: 1, max: 16 }),
  ),
  phase: s.field(
    "Runs the policy on every request of a gateway, before a route is chosen; for targets of kind `Gateway`.",
    s.optional(s.oneOf(["PreRouting"])),
  ),
  traffic: s.field(
    "What runs on requests; for targets of kind `Gateway` and `HTTPRoute`.",
    s.optional(trafficSchema),
  ),
  backend: s.field(
    "What runs once a backend is chosen; for targets of kind `GatewayBackend`.",
    s.optional(backendPolicySchema),
  ),
};

const policySpec = s.refine(
  s.object(policyEntries),
  s.exactlyOne("traffic", "backend"),
  s.rule(
    (spec) =>
      spec.backend === undefined || spec.traffic !== undefined ||
      hasTargets(spec, ["GatewayBackend"]),
    '"backend" needs targets of kind "GatewayBackend"; use "traffic" for gateways and routes',
    ["backend"],
  ),
  s.rule(
    (spec) =>
      spec.traffic === undefined || hasTargets(spec, ["Gateway", "HTTPRoute"]),
    '"traffic" needs targets of kind "Gateway" or "HTTPRoute"; use "backend" for backends',
    ["traffic"],
  ),
  s.rule(
    (spec) => spec.phase === undefined || hasTargets(spec, ["Gateway"]),
    'phase "PreRouting" needs targets of kind "Gateway"',
    ["phase"],
  ),
  s.rule(
    (spec) => spec.phase === undefined || misplacedKind(spec) === undefined,
    `cannot run in phase "PreRouting", only ${
      gatewayPhaseKinds.join(", ")
    } can`,
    (spec) => ["traffic", misplacedKind(spec) ?? ""],
  ),
);

interface Targeting {
  readonly targetRefs: readonly { readonly kind: string }[];
}

function hasTargets(
  { targetRefs }: Targeting,
  kinds: readonly string[],
): boolean {
  return targetRefs.every(({ kind }) => kinds.includes(kind));
}

function misplacedKind(
  { traffic = {} }: { readonly traffic?: object },
): string | undefined {
  return Object.keys(traffic).find((key) => !gatewayPhaseKinds.includes(key));
}

/** A policy and the resources that it is attached to. */
export const gatewayPolicySchema = resource(
  policyApiVersion,
  "GatewayPolicy",
  policySpec,
);

/** A policy and the resources that it is attached to. */
export type GatewayPolicy = s.Infer<typeof gatewayPolicySchema>;
/** What runs on the requests of a route or gateway. */
export type TrafficPolicy = s.Infer<typeof trafficSchema>;
/** What runs on the requests to a backend. */
export type BackendPolicy = s.Infer<typeof backendPolicySchema>;
/** A resource that a policy is attached to. */
export type PolicyTargetRef = s.Infer<typeof targetRef>;
/** An answer given without a backend. */
export type DirectResponse = s.Infer<typeof directResponseSchema>;
/** Name of a policy kind in `spec.traffic`. */
export type TrafficPolicyKind = keyof TrafficPolicy;

/** Annotation of policies that were written inside their route. */
export const INLINE_ANNOTATION = `${POLICY_API_GROUP}/inline`;

/** Whether a policy was written inside its route; it then goes before every policy that targets the route. */
export function isInlinePolicy(policy: GatewayPolicy): boolean {
  return policy.metadata.annotations?.[INLINE_ANNOTATION] === "true";
}
