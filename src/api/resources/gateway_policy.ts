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

/** A fixed response without a backend. */
export const directResponseSchema = s.object({
  status: s.field("Status of the response.", s.integer(200, 599)),
  body: s.field(
    "Body of the response, plain text.",
    s.optional(s.withPrivacy("text", s.text(65536, 0))),
  ),
});

/** Policies for the requests of a route or gateway; one field per kind. */
export const trafficSchema = s.object({
  cors: s.field(
    "Allows cross-origin requests from browsers.",
    s.optional(corsSchema),
  ),
  jwtAuthentication: s.field(
    "Authenticates clients by a JSON Web Token (JWT).",
    s.optional(jwtAuthenticationSchema),
  ),
  basicAuthentication: s.field(
    "Authenticates clients by user name and password.",
    s.optional(basicAuthenticationSchema),
  ),
  apiKeyAuthentication: s.field(
    "Authenticates clients by an API key.",
    s.optional(apiKeyAuthenticationSchema),
  ),
  authorization: s.field(
    "Authorization rules; those of gateway and route all apply.",
    s.optional(authorizationSchema),
  ),
  rateLimit: s.field(
    "Budgets of requests or LLM tokens; those of gateway and route all apply.",
    s.optional(rateLimitSchema),
  ),
  transformation: s.field(
    "Changes requests and responses with expressions.",
    s.optional(transformationSchema),
  ),
  requestHeaderModifier: s.field(
    "Changes request headers.",
    s.optional(headerModifierSchema),
  ),
  responseHeaderModifier: s.field(
    "Changes response headers.",
    s.optional(headerModifierSchema),
  ),
  urlRewrite: s.field(
    "Changes host and path of requests.",
    s.optional(urlRewriteSchema),
  ),
  requestRedirect: s.field(
    "Responds with a redirect, without a backend.",
    s.optional(requestRedirectSchema),
  ),
  directResponse: s.field(
    "Responds with a status and a plain text, without a backend.",
    s.optional(directResponseSchema),
  ),
  timeouts: s.field(
    "Time limits of requests.",
    s.optional(routeTimeoutsSchema),
  ),
  retry: s.field(
    "Retries of failed requests. Default: none.",
    s.optional(routeRetrySchema),
  ),
});

/** Policies for the requests to a backend. */
export const backendPolicySchema = s.object({
  transformation: s.field(
    "Changes requests and responses with expressions.",
    s.optional(transformationSchema),
  ),
});

const targetEntries = {
  name: s.field("Name of the resource.", referenceName),
  sectionName: s.field(
    "A listener of the gateway, or a named rule of the route. Default: all.",
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

/** Fields of a policy's `spec`, shared with named policies of the short file form. */
export const policyEntries = {
  targetRefs: s.field(
    "Resources that the policy applies to. Where policies overlap, the more specific target wins, per field.",
    s.list(targetRef, { min: 1, max: 16 }),
  ),
  phase: s.field(
    "Runs the policy for every request of a gateway, before routing; for targets of kind `Gateway`.",
    s.optional(s.oneOf(["PreRouting"])),
  ),
  traffic: s.field(
    "Policies for requests; for targets of kind `Gateway` and `HTTPRoute`.",
    s.optional(trafficSchema),
  ),
  backend: s.field(
    "Policies that run after the backend is selected; for targets of kind `GatewayBackend`.",
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
    '"backend" requires targets of kind "GatewayBackend"; use "traffic" for gateways and routes',
    ["backend"],
  ),
  s.rule(
    (spec) =>
      spec.traffic === undefined || hasTargets(spec, ["Gateway", "HTTPRoute"]),
    '"traffic" requires targets of kind "Gateway" or "HTTPRoute"; use "backend" for backends',
    ["traffic"],
  ),
  s.rule(
    (spec) => spec.phase === undefined || hasTargets(spec, ["Gateway"]),
    'phase "PreRouting" requires targets of kind "Gateway"',
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

/** A policy and its target resources. */
export const gatewayPolicySchema = resource(
  policyApiVersion,
  "GatewayPolicy",
  policySpec,
);

/** A policy and its target resources. */
export type GatewayPolicy = s.Infer<typeof gatewayPolicySchema>;
/** Policies for the requests of a route or gateway. */
export type TrafficPolicy = s.Infer<typeof trafficSchema>;
/** Policies for the requests to a backend. */
export type BackendPolicy = s.Infer<typeof backendPolicySchema>;
/** A target resource of a policy. */
export type PolicyTargetRef = s.Infer<typeof targetRef>;
/** A fixed response without a backend. */
export type DirectResponse = s.Infer<typeof directResponseSchema>;
/** Name of a policy kind in `spec.traffic`. */
export type TrafficPolicyKind = keyof TrafficPolicy;

/** Annotation of inline policies: those written inside a route. */
export const INLINE_ANNOTATION = `${POLICY_API_GROUP}/inline`;

/** Reports whether a policy was written inside its route; it then takes precedence over policies that target the route. */
export function isInlinePolicy(policy: GatewayPolicy): boolean {
  return policy.metadata.annotations?.[INLINE_ANNOTATION] === "true";
}
