import {
  type GatewayPolicy,
  isInlinePolicy,
  type PolicyTargetRef,
} from "../../api/resources/gateway_policy_schema.ts";
import type { Gateway } from "../../api/resources/gateway_resource.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { ClientCertificate } from "../../http/client/upstream.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { comparePrecedence, namespacedName } from "../resolve/precedence.ts";
import type { View } from "../memory/compile_memory.ts";
import type { Report } from "../memory/report.ts";
import type { ListenerSite } from "./listener_sites.ts";

/** The output of the passes `resolve` and `attach`, on which results depend. */
export type Attached = View<{
  /** By `Backend.key`. */
  readonly backends: ReadonlyMap<string, Backend>;
  /** See `CompiledBackends`. */
  readonly invalidBackends: ReadonlyMap<string, string | undefined>;
  readonly clientCertificates: ReadonlyMap<Gateway, ClientCertificate>;
  readonly policies: PolicyLevels;
  /** By the key of their gateway or listener set. */
  readonly sites: ReadonlyMap<string, readonly ListenerSite[]>;
}>;

/** Target of a policy: a resource, or a named section (listener, rule) of it. */
export interface PolicyTarget {
  readonly kind: PolicyTargetRef["kind"];
  readonly resource: {
    readonly metadata: { readonly namespace: string; readonly name: string };
  };
  readonly section?: string | undefined;
}

/** Names a target: `HTTPRoute/default/llm`, or `HTTPRoute/default/llm#chat` for a section of it. */
export function nameOfTarget(
  { kind, resource, section }: PolicyTarget,
): string {
  const { namespace, name } = resource.metadata;
  return targetKey(kind, namespace, { name, sectionName: section });
}

/** Phase of a level: that of `spec.phase`, or `inline` for the policies of a route itself. */
export type LevelPhase = "PreRouting" | "inline";

/** Policies by their target and phase. */
class PolicyLevels {
  readonly #policies = new Map<string, GatewayPolicy[]>();

  /** Adds a policy; of two with a conflict, the one that comes first wins. */
  add(policy: GatewayPolicy, target: string): void {
    const phase = isInlinePolicy(policy) ? "inline" : policy.spec.phase;
    const key = keyOf(target, phase);
    const level = this.#policies.getOrInsertComputed(key, () => []);
    if (!level.includes(policy)) level.push(policy);
  }

  /** Returns the policies of a level, the winner of a conflict first. */
  at(target: PolicyTarget, phase?: LevelPhase): readonly GatewayPolicy[] {
    return this.#policies.get(keyOf(nameOfTarget(target), phase)) ?? [];
  }
}

function keyOf(target: string, phase = ""): string {
  return `${phase}:${target}`;
}

/** Finds the target of every policy; a target that is not there gets a warning. */
export function* attachPolicies(
  resources: ResourceSet,
  report: Report,
): Generator<void, PolicyLevels> {
  const attached = new PolicyLevels();
  if (resources.gatewayPolicies.length === 0) return attached;
  const known = yield* listTargets(resources);
  for (const policy of resources.gatewayPolicies.toSorted(comparePrecedence)) {
    for (const [index, ref] of policy.spec.targetRefs.entries()) {
      const target = targetKey(ref.kind, policy.metadata.namespace, ref);
      if (!known.has(target)) {
        reportMissing(policy, ["spec", "targetRefs", index], ref, {
          known,
          report,
        });
      }
      attached.add(policy, target);
    }
    yield;
  }
  return attached;
}

interface NamedSection {
  readonly name: string;
  readonly sectionName?: string | undefined;
}

function targetKey(
  kind: string,
  namespace: string,
  { name, sectionName }: NamedSection,
): string {
  const section = sectionName === undefined ? "" : `#${sectionName}`;
  return `${kind}/${namespace}/${name}${section}`;
}

function* listTargets(
  resources: ResourceSet,
): Generator<void, ReadonlySet<string>> {
  const keys = new Set<string>();
  const add = (
    { kind, metadata }: { kind: string; metadata: GatewayPolicy["metadata"] },
    sections: readonly (string | undefined)[],
  ) => {
    const { namespace, name } = metadata;
    keys.add(targetKey(kind, namespace, { name }));
    for (const sectionName of sections) {
      if (sectionName === undefined) continue;
      keys.add(targetKey(kind, namespace, { name, sectionName }));
    }
  };
  for (const owner of [...resources.gateways, ...resources.listenerSets]) {
    add(owner, owner.spec.listeners.map(({ name }) => name));
  }
  for (const route of resources.httpRoutes) {
    add(route, route.spec.rules.map(({ name }) => name));
    yield;
  }
  for (const backend of resources.gatewayBackends) {
    add(backend, []);
    yield;
  }
  return keys;
}

function reportMissing(
  policy: GatewayPolicy,
  path: DiagnosticPath,
  ref: PolicyTargetRef,
  { known, report }: { known: ReadonlySet<string>; report: Report },
): void {
  const { namespace } = policy.metadata;
  const name = namespacedName({ metadata: { namespace, name: ref.name } });
  const whole = targetKey(ref.kind, namespace, { name: ref.name });
  const hasResource = known.has(whole);
  const message = hasResource
    ? `Cannot attach the policy: ${ref.kind} "${name}" has no section "${ref.sectionName}"`
    : `Cannot attach the policy: ${ref.kind} "${name}" not found`;
  const prefix = hasResource ? `${whole}#` : `${ref.kind}/${namespace}/`;
  const listCandidates = () =>
    [...known].filter((key) => key.startsWith(prefix)).map((key) =>
      key.slice(prefix.length)
    );
  const wanted = hasResource ? ref.sectionName ?? "" : ref.name;
  const field = hasResource ? "sectionName" : "name";
  const suggestion = report.suggest(wanted, listCandidates);
  report.warning(policy, {
    path: [...path, field],
    message,
    suggestion,
    reason: "TargetNotFound",
  });
}
