import { gatewayOfSet, namespacedName } from "../resolve/precedence.ts";
import {
  resourceKey,
  type ResourceSet,
} from "../../api/resources/resource_set.ts";
import type { ResourceDiagnostic } from "../../base/diagnostic.ts";
import type { CompiledListener } from "../policies/compiled_rules.ts";
import { type Condition, conditionNo, unless } from "./conditions.ts";
import {
  describeGateway,
  describeListenerSet,
  type GatewayOutcome,
  type ListenerSetOutcome,
} from "./gateway_outcomes.ts";
import { listenerKey } from "./listener_outcomes.ts";
import { describeRoutes, type RouteOutcome } from "./route_outcomes.ts";
import type { BackendTlsPolicy } from "../../api/resources/backend_tls_policy.ts";
import type { GatewayPolicy } from "../../api/resources/gateway_policy_schema.ts";
import { GATEWAY_API_GROUP } from "../../api/schema/group.ts";

/** Results of compilation per resource, from which the statuses in a cluster are written. */
export interface Outcomes {
  readonly gateways: readonly GatewayOutcome[];
  readonly listenerSets: readonly ListenerSetOutcome[];
  readonly routes: readonly RouteOutcome[];
  readonly policies: readonly PolicyOutcome[];
}

/** Dependencies of describing outcomes. */
interface OutcomeSources {
  readonly diagnostics: readonly ResourceDiagnostic[];
  readonly listeners: readonly CompiledListener[];
}

/** Derives the conditions of gateways and routes from what compilation reported. */
export function* describeOutcomes(
  resources: ResourceSet,
  { diagnostics, listeners }: OutcomeSources,
): Generator<void, Outcomes> {
  const { gateways, listenerSets, httpRoutes, unusablePorts = [] } = resources;
  const reports = Map.groupBy(
    diagnostics.filter(({ reason, severity }) =>
      reason !== undefined || severity === "error"
    ),
    ({ resource: { kind, namespace, name } }) =>
      resourceKey({ kind, metadata: { namespace, name } }),
  );
  const reportsOf = (resource: Parameters<typeof resourceKey>[0]) =>
    reports.size === 0 ? [] : reports.get(resourceKey(resource)) ?? [];
  const attached = countRoutes(listeners);
  const own = new Map(
    gateways.map((gateway) => [
      namespacedName(gateway),
      describeGateway(gateway, attached, {
        reports: reportsOf(gateway),
        unusablePorts,
      }),
    ]),
  );
  const sets: ListenerSetOutcome[] = [];
  for (const set of listenerSets) {
    const gateway = own.get(gatewayOfSet(set));
    if (gateway === undefined) continue;
    sets.push(
      describeListenerSet(set, attached, { gateway, reports: reportsOf(set) }),
    );
  }
  yield;
  const known = new Set([
    ...own.keys().map((name) => `Gateway/${name}`),
    ...sets.map(({ name }) => `ListenerSet/${name}`),
  ]);
  return {
    gateways: [...own.values()],
    listenerSets: sets,
    routes: yield* describeRoutes(httpRoutes, known, reportsOf),
    policies: yield* describePolicyOutcomes(resources, {
      listeners,
      reportsOf,
    }),
  };
}

/** Returns the number of routes of each listener. */
function countRoutes(
  listeners: readonly CompiledListener[],
): ReadonlyMap<string, number> {
  return new Map(listeners.map(({ site, rules }) => [
    listenerKey(site.owner, site.spec),
    new Set(rules.map(({ rule }) => rule.route)).size,
  ]));
}

/** State of a policy at each gateway that it affects; Gateway API `PolicyAncestorStatus`. */
interface PolicyOutcome {
  readonly kind: "GatewayPolicy" | "BackendTLSPolicy";
  /** `namespace/name`. */
  readonly name: string;
  readonly ancestors: readonly Ancestor[];
}

interface Ancestor {
  /** A gateway; the target itself when it is not found. */
  readonly ancestorRef: {
    readonly group: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
  };
  readonly conditions: readonly Condition[];
}

/** Most entries that the status of a policy can have. */
const MAX_ANCESTORS = 16;

type Policy = GatewayPolicy | BackendTlsPolicy;

/** Derives the conditions of policies; `reportsOf` returns what compilation reported of one. */
function* describePolicyOutcomes(
  { gatewayPolicies, backendTlsPolicies }: ResourceSet,
  { listeners, reportsOf }: {
    readonly listeners: readonly CompiledListener[];
    readonly reportsOf: (policy: Policy) => readonly ResourceDiagnostic[];
  },
): Generator<void, readonly PolicyOutcome[]> {
  const policies = [...gatewayPolicies, ...backendTlsPolicies];
  const gateways = yield* findGateways(listeners, policies);
  const outcomes: PolicyOutcome[] = [];
  for (const policy of policies) {
    outcomes.push(describePolicy(policy, gateways, reportsOf(policy)));
    yield;
  }
  return outcomes;
}

/** Returns the gateways by the targets of policies that they use: themselves, their routes, and the backends of these. */
function* findGateways(
  listeners: readonly CompiledListener[],
  policies: readonly Policy[],
): Generator<void, ReadonlyMap<string, ReadonlySet<string>>> {
  const used = new Map<string, Set<string>>();
  for (const { metadata: { namespace }, spec } of policies) {
    for (const { kind, name } of spec.targetRefs) {
      used.set(`${kind}/${namespace}/${name}`, new Set());
    }
    yield;
  }
  if (used.size === 0) return used;
  for (const { site, rules } of listeners) {
    const gateway = namespacedName(site.gateway);
    used.get(`Gateway/${gateway}`)?.add(gateway);
    used.get(resourceKey(site.owner))?.add(gateway);
    for (const { rule: { route, spec } } of rules) {
      yield;
      used.get(`${route.kind}/${namespacedName(route)}`)?.add(gateway);
      for (const ref of spec.backendRefs ?? []) {
        const namespace = ref.namespace ?? route.metadata.namespace;
        used.get(`${ref.kind}/${namespace}/${ref.name}`)?.add(gateway);
      }
    }
  }
  return used;
}

function describePolicy(
  policy: Policy,
  gateways: ReadonlyMap<string, ReadonlySet<string>>,
  reports: readonly ResourceDiagnostic[],
): PolicyOutcome {
  const { namespace } = policy.metadata;
  const ancestors = new Map<string, Ancestor>();
  for (const [index, ref] of policy.spec.targetRefs.entries()) {
    const relevant = reports.filter(({ path }) =>
      path[1] !== "targetRefs" || path[2] === index
    );
    const conditions = policy.kind === "GatewayPolicy"
      ? policyConditions(relevant)
      : tlsConditions(relevant);
    const found = gateways.get(`${ref.kind}/${namespace}/${ref.name}`) ??
      new Set();
    for (const gateway of found) {
      const [owner = "", name = ""] = gateway.split("/");
      const ancestorRef = {
        group: GATEWAY_API_GROUP,
        kind: "Gateway",
        namespace: owner,
        name,
      };
      ancestors.getOrInsert(gateway, { ancestorRef, conditions });
    }
    const isMissing = relevant.some(({ reason }) =>
      reason === "TargetNotFound"
    );
    if (found.size === 0 && isMissing) {
      const { group, kind, name } = ref;
      const ancestorRef = { group, kind, namespace, name };
      ancestors.set(`${kind}/${name}`, { ancestorRef, conditions });
    }
  }
  return {
    kind: policy.kind,
    name: namespacedName(policy),
    ancestors: [...ancestors.values()].slice(0, MAX_ANCESTORS),
  };
}

function policyConditions(
  reports: readonly ResourceDiagnostic[],
): readonly Condition[] {
  const missing = reports.find(({ reason }) => reason === "TargetNotFound");
  const invalid = missing ??
    reports.find(({ severity }) => severity === "error");
  return ["Accepted", "Attached"].map((type) => unless(invalid, type));
}

/** Gateway API `BackendTLSPolicyConditionResolvedRefs`. */
function tlsConditions(
  reports: readonly ResourceDiagnostic[],
): readonly Condition[] {
  const reference = reports.find(({ reason = "" }) =>
    ["InvalidCACertificateRef", "InvalidKind"].includes(reason)
  );
  const accepted = reference === undefined
    ? unless(reports[0], "Accepted")
    : conditionNo("Accepted", "NoValidCACertificate", reference.message);
  return [accepted, unless(reference, "ResolvedRefs")];
}
