import type { BackendTlsPolicy } from "../../api/resources/backend_tls_policy.ts";
import type { GatewayPolicy } from "../../api/resources/gateway_policy_schema.ts";
import { GATEWAY_API_GROUP } from "../../api/resources/group.ts";
import {
  resourceKey,
  type ResourceSet,
} from "../../api/resources/resource_set.ts";
import type { ResourceDiagnostic } from "../../base/diagnostic.ts";
import type { CompiledListener } from "../policies/compiled_model.ts";
import {
  type Condition,
  conditionNo,
  conditionYes,
} from "../attach/conditions.ts";
import { namespacedName } from "../resolve/precedence.ts";

/** State of a policy at each gateway that it affects; Gateway API `PolicyAncestorStatus`. */
export interface PolicyOutcome {
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
export function* describePolicyOutcomes(
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
  if (invalid !== undefined) {
    const { reason = "Invalid", message } = invalid;
    return [
      conditionNo("Accepted", reason, message),
      conditionNo("Attached", reason, message),
    ];
  }
  return [conditionYes("Accepted"), conditionYes("Attached")];
}

/** Gateway API `BackendTLSPolicyConditionResolvedRefs`. */
function tlsConditions(
  reports: readonly ResourceDiagnostic[],
): readonly Condition[] {
  const reference = reports.find(({ reason = "" }) =>
    ["InvalidCACertificateRef", "InvalidKind"].includes(reason)
  );
  if (reference !== undefined) {
    const { reason = "", message } = reference;
    return [
      conditionNo("Accepted", "NoValidCACertificate", message),
      conditionNo("ResolvedRefs", reason, message),
    ];
  }
  const [rejection] = reports;
  return [
    rejection === undefined ? conditionYes("Accepted") : conditionNo(
      "Accepted",
      rejection.reason ?? "Invalid",
      rejection.message,
    ),
    conditionYes("ResolvedRefs"),
  ];
}
