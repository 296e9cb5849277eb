import {
  GATEWAY_API_GROUP,
  POLICY_API_GROUP,
  policyApiVersion,
} from "../schema/group.ts";
import {
  type RouteRetry,
  type RouteTimeouts,
  ruleEntries,
} from "./http_route.ts";
import { resource } from "./resource.ts";
import { objectName, referenceName } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

/**
 * Phases in which a kind of policy can run: after routing, before routing (`gateway`), in `spec.backend` of a policy (`backend`), as a filter
 * of a backend reference (`backendRef`).
 */
export type PolicyPhase = "gateway" | "route" | "backend" | "backendRef";

/** A kind of policy as configuration has it: a field of `spec.traffic`. */
export interface PolicyField {
  /** Such as `cors`. */
  readonly name: string;
  /** One sentence for editors and the reference. */
  readonly description: string;
  readonly schema: s.GenericSchema;
  readonly phases: readonly PolicyPhase[];
}

/** Policies for the requests of a route or gateway, by kind; `PolicyKind.configOf` returns those of one kind with their type. */
export interface TrafficPolicy {
  readonly timeouts?: RouteTimeouts;
  readonly retry?: RouteRetry;
  readonly [kind: string]: unknown;
}

const targetEntries = {
  name: s.field("Name of the resource.", referenceName),
  sectionName: s.field(
    "A listener of the gateway or listener set, or a named rule of the route. Default: all.",
    s.optional(objectName),
  ),
};

const targetRef = s.variant("kind", [
  target(GATEWAY_API_GROUP, "Gateway"),
  target(GATEWAY_API_GROUP, "ListenerSet"),
  target(GATEWAY_API_GROUP, "HTTPRoute"),
  target(GATEWAY_API_GROUP, "GRPCRoute"),
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

/** Schemas of everything that depends on which kinds of policies there are. */
export type PolicySchemas = ReturnType<typeof createPolicySchemas>;

/** Creates the schemas of `GatewayPolicy` and its parts. @param kinds In the order in which editors and the reference list them. */
export function createPolicySchemas(kinds: readonly PolicyField[]) {
  const namesIn = (phase: PolicyPhase) =>
    kinds.filter(({ phases }) => phases.includes(phase))
      .map(({ name }) => name);
  const traffic = typed(s.object({
    ...fieldsOf(kinds),
    timeouts: ruleEntries.timeouts,
    retry: ruleEntries.retry,
  }));
  const backend = typed(s.object(
    fieldsOf(kinds.filter(({ phases }) => phases.includes("backend"))),
  ));
  /** Fields of a policy's `spec`, shared with named policies of the short file form. */
  const entries = {
    targetRefs: s.field(
      "Resources that the policy applies to. Where policies overlap, the more specific target wins, per field.",
      s.list(targetRef, { min: 1, max: 16 }),
    ),
    phase: s.field(
      "Runs the policy for every request of a gateway, before routing; for targets of kind `Gateway` and `ListenerSet`.",
      s.optional(s.oneOf(["PreRouting"])),
    ),
    traffic: s.field(
      "Policies for requests; for gateways, listener sets and routes.",
      s.optional(traffic),
    ),
    backend: s.field(
      "Policies that run after the backend is selected; for targets of kind `GatewayBackend`.",
      s.optional(backend),
    ),
  };
  const spec = refineSpec(s.object(entries), namesIn("gateway"));
  return {
    traffic,
    backend,
    entries,
    resource: resource(policyApiVersion, "GatewayPolicy", spec),
  };
}

function fieldsOf(
  kinds: readonly PolicyField[],
): Readonly<Record<string, s.GenericSchema>> {
  return Object.fromEntries(
    kinds.map(({ name, description, schema }) => [
      name,
      s.field(description, s.optional(schema)),
    ]),
  );
}

/** The types of the kinds are lost in a list; `TrafficPolicy` stands for all of them. */
function typed(schema: s.GenericSchema) {
  return schema as s.GenericSchema<TrafficPolicy, TrafficPolicy>;
}

interface Targeting {
  readonly targetRefs: readonly { readonly kind: string }[];
  readonly phase?: string;
  readonly traffic?: object;
  readonly backend?: object;
}

function refineSpec<S extends s.GenericSchema<unknown, Targeting>>(
  schema: S,
  gatewayKinds: readonly string[],
): S {
  const misplacedKind = ({ traffic = {} }: Targeting) =>
    Object.keys(traffic).find((key) => !gatewayKinds.includes(key));
  return s.refine(
    schema,
    s.exactlyOne("traffic", "backend"),
    s.rule<Targeting>(
      (spec) =>
        spec.backend === undefined || spec.traffic !== undefined ||
        hasTargets(spec, ["GatewayBackend"]),
      '"backend" requires targets of kind "GatewayBackend"; use "traffic" for gateways and routes',
      ["backend"],
    ),
    s.rule<Targeting>(
      (spec) =>
        spec.traffic === undefined ||
        spec.targetRefs.every(({ kind }) => kind !== "GatewayBackend"),
      '"traffic" requires targets of kind "Gateway" or "HTTPRoute"; use "backend" for backends',
      ["traffic"],
    ),
    s.rule<Targeting>(
      (spec) =>
        spec.phase === undefined ||
        hasTargets(spec, ["Gateway", "ListenerSet"]),
      'phase "PreRouting" requires targets of kind "Gateway"',
      ["phase"],
    ),
    s.rule<Targeting>(
      (spec) => spec.phase === undefined || misplacedKind(spec) === undefined,
      `cannot run in phase "PreRouting", only ${gatewayKinds.join(", ")} can`,
      (spec) => ["traffic", misplacedKind(spec) ?? ""],
    ),
  );
}

function hasTargets(
  { targetRefs }: Targeting,
  kinds: readonly string[],
): boolean {
  return targetRefs.every(({ kind }) => kinds.includes(kind));
}

/** A policy and its target resources. */
export type GatewayPolicy = s.Infer<PolicySchemas["resource"]>;
/** A target resource of a policy. */
export type PolicyTargetRef = s.Infer<typeof targetRef>;

/** Annotation of inline policies: those written inside a route. */
export const INLINE_ANNOTATION = `${POLICY_API_GROUP}/inline`;

/** Reports whether a policy was written inside its route; it then takes precedence over policies that target the route. */
export function isInlinePolicy(policy: GatewayPolicy): boolean {
  return policy.metadata.annotations?.[INLINE_ANNOTATION] === "true";
}
