import type {
  RouteRetry,
  RouteTimeouts,
} from "../../api/resources/http_route.ts";
import type { PolicyRegistry } from "../../policy/contract/policy_registry.ts";
import type { ListenerSite } from "../attach/listener_sites.ts";
import type { PolicyKind } from "../../policy/contract/policy_kind.ts";
import type { Report } from "../memory/report.ts";
import {
  type Attached,
  type LevelPhase,
  nameOfTarget,
  type PolicyTarget,
} from "../attach/attach_policies.ts";
import type { PolicyChecks } from "./check_policies.ts";
import type { EffectivePolicy, PolicyLayer, Rule } from "./compiled_rules.ts";

/** The layers of one level of attachment, the winner of a conflict first. */
type PolicyLevel = readonly PolicyLayer[];

/** Told of a layer that has no effect because another of the same level has the same kind. */
type OnConflict = (
  loser: PolicyLayer,
  winner: PolicyLayer,
  kind: string,
) => void;

/** Dependencies of merging policies. */
export interface MergeContext {
  readonly policies: PolicyRegistry;
  readonly checks: PolicyChecks;
  readonly attached: Attached;
  readonly report: Report;
}

/** Configuration that applies to a rule at a listener. */
interface MergedRule {
  readonly effective: readonly EffectivePolicy[];
  readonly timeouts: RouteTimeouts;
  readonly retry: RouteRetry | undefined;
}

/** Merges the policies of a rule of a listener; the least specific are those of the gateway, then listener set, listener, route, rule, inline, filters. */
export function mergeForRule(
  rule: Rule,
  site: ListenerSite,
  context: MergeContext,
): MergedRule {
  const levels = levelsOf(rule, site, context.attached);
  const onConflict = reportConflict(context.report);
  const effective = mergePolicies(
    levels,
    context.policies.running("route"),
    onConflict,
  );
  const timeouts = mergeTimeouts(levels, onConflict);
  const retry = mergeRetry(levels, onConflict);
  warnWithoutIdentity(effective, site, context);
  return { effective, timeouts, retry };
}

/** Merges the policies that run before routing: those of the listener are more specific than those of its gateway. */
export function mergeForListener(
  site: ListenerSite,
  { attached, policies, report }: MergeContext,
): readonly EffectivePolicy[] {
  return mergePolicies(
    earlyLevels(site, attached),
    policies.running("gateway"),
    reportConflict(report),
  );
}

function earlyLevels(site: ListenerSite, attached: Attached): PolicyLevel[] {
  return targetsOf(site).map((target) =>
    levelAt(attached, target, "PreRouting")
  );
}

/** Returns the levels of policies, the most specific first. */
function levelsOf(
  { route, spec, own }: Rule,
  site: ListenerSite,
  attached: Attached,
): PolicyLevel[] {
  const ofRoute: PolicyTarget = { kind: route.kind, resource: route };
  const { name: section } = spec;
  return [
    [{ resource: route, traffic: own, scope: nameOfTarget(ofRoute) }],
    levelAt(attached, ofRoute, "inline"),
    section === undefined ? [] : levelAt(attached, { ...ofRoute, section }),
    levelAt(attached, ofRoute),
    ...targetsOf(site).map((target) => levelAt(attached, target)),
  ];
}

/** Returns the targets of policies that apply to a listener, the most specific first. */
function targetsOf(
  { gateway, owner, spec }: ListenerSite,
): readonly PolicyTarget[] {
  const own = { kind: owner.kind, resource: owner };
  return [
    { ...own, section: spec.name },
    own,
    ...(owner === gateway ? [] : [{ kind: gateway.kind, resource: gateway }]),
  ];
}

/** Returns the policies that are attached to a target; `phase` is `spec.phase`. */
function levelAt(
  attached: Attached,
  target: PolicyTarget,
  phase?: LevelPhase,
): PolicyLevel {
  const scope = nameOfTarget(target);
  const policies = attached.read(({ policies }) => policies.at(target, phase));
  return policies.map((resource) => ({
    resource,
    traffic: resource.spec.traffic ?? {},
    scope,
  }));
}

/** Returns a function that warns about policies without effect. */
function reportConflict(report: Report): OnConflict {
  return (loser, winner, kind) => {
    const { namespace, name } = winner.resource.metadata;
    const message =
      `Cannot apply "${kind}": policy "${namespace}/${name}" has it for the same target and takes precedence`;
    report.warning(loser.resource, {
      path: ["spec", "traffic", kind],
      message,
    });
  };
}

function mergeTimeouts(
  levels: readonly PolicyLevel[],
  onConflict: OnConflict,
): RouteTimeouts {
  const layers = layersWith(levels, "timeouts", onConflict);
  return layers.reduceRight<RouteTimeouts>(
    (merged, { traffic }) => ({ ...merged, ...traffic.timeouts }),
    {},
  );
}

function mergeRetry(
  levels: readonly PolicyLevel[],
  onConflict: OnConflict,
): RouteRetry | undefined {
  const layers = layersWith(levels, "retry", onConflict);
  return layers.reduceRight<RouteRetry | undefined>(
    (merged, { traffic }) => ({ ...merged, ...traffic.retry }),
    undefined,
  );
}

/**
 * Decides kind by kind what applies.
 *
 * @param levels The most specific first.
 * @param kinds In the order in which they run; that is the order of the result too.
 */
function mergePolicies(
  levels: readonly PolicyLevel[],
  kinds: readonly PolicyKind[],
  onConflict: OnConflict,
): EffectivePolicy[] {
  const effective: EffectivePolicy[] = [];
  for (const kind of kinds) {
    const layers = kind.merge === "accumulate"
      ? levels.flatMap((level) => having(level, kind.name)).reverse()
      : mostSpecific(levels, kind.name, onConflict);
    if (layers.length > 0) effective.push({ kind, layers });
  }
  return effective;
}

/** Returns the configurations of a field that is no policy of its own, such as `timeouts`: the winner of each level, the most specific first. */
function layersWith(
  levels: readonly PolicyLevel[],
  field: string,
  onConflict: OnConflict,
): readonly PolicyLayer[] {
  return levels.flatMap((level) => winners(level, field, onConflict));
}

function mostSpecific(
  levels: readonly PolicyLevel[],
  kind: string,
  onConflict: OnConflict,
): readonly PolicyLayer[] {
  return layersWith(levels, kind, onConflict).slice(0, 1);
}

function winners(
  level: PolicyLevel,
  kind: string,
  onConflict: OnConflict,
): readonly PolicyLayer[] {
  const [winner, ...losers] = having(level, kind);
  if (winner === undefined) return [];
  for (const loser of losers) onConflict(loser, winner, kind);
  return [winner];
}

function having(level: PolicyLevel, kind: string): PolicyLayer[] {
  return level.filter(({ traffic }) => traffic[kind] !== undefined);
}

/** Warns of policies that read an identity which no policy of the route or its gateway verifies. */
function warnWithoutIdentity(
  effective: readonly EffectivePolicy[],
  site: ListenerSite,
  { attached, checks, policies, report }: MergeContext,
): void {
  const early = earlyLevels(site, attached).flat();
  const isVerified = (name: string) =>
    policies.kinds.some((kind) =>
      kind.identity?.name === name &&
      (effective.some((each) => each.kind === kind) ||
        early.some(({ traffic }) => traffic[kind.name] !== undefined))
    );
  for (const { kind, layers } of effective) {
    for (const { resource, traffic } of layers) {
      for (const problem of checks.problemsOf(kind, traffic)) {
        const { unlessVerified, path: within } = problem;
        if (unlessVerified === undefined || isVerified(unlessVerified)) {
          continue;
        }
        const path = ["spec", "traffic", kind.name, ...within];
        report.warning(resource, { ...problem, path, needsPolicy: true });
      }
    }
  }
}
