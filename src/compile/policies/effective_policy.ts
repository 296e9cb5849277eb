import type { TrafficPolicy } from "../../api/resources/gateway_policy_schema.ts";
import type {
  HttpRoute,
  HttpRouteRule,
} from "../../api/resources/http_route.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { PolicyRegistry } from "../../policy/contract/policy_registry.ts";
import type {
  Backend,
  BackendGroup,
  GroupChoice,
  Listener,
  Mirror,
  PersistentSessions,
  Port,
  Route,
  WeightedBackend,
} from "../../snapshot/snapshot.ts";
import type { RouteEntry } from "../../route/route_table.ts";
import type { ListenerSite } from "../attach/listener_sites.ts";
import type { PolicyKind } from "../../policy/contract/policy_kind.ts";
import type { Named } from "../memory/report.ts";

/** The destinations of the requests that match a rule. */
export interface Forwarding {
  readonly backends: readonly WeightedBackend[];
  readonly totalWeight: number;
  /** As `Route.groups`. */
  readonly groups: readonly BackendGroup[] | undefined;
  /** As `Route.replaysFailures`. */
  readonly replaysFailures: boolean;
  /** As `Route.choice`. */
  readonly choice?: GroupChoice | undefined;
  readonly mirrors: readonly Mirror[];
  readonly sessions?: PersistentSessions;
}

/** A rule of a route: the part that is the same for every listener. */
export interface Rule {
  readonly route: HttpRoute;
  readonly spec: HttpRouteRule;
  /** Index in `spec.rules`. */
  readonly index: number;
  readonly forwarding: Forwarding;
  /** Filters, timeouts and retries as they stand in the rule. */
  readonly own: TrafficPolicy;
}

/** A rule with the policies of one listener merged in. */
export interface CompiledRule {
  readonly rule: Rule;
  readonly route: Route;
  readonly effective: readonly EffectivePolicy[];
}

/** A compiled listener with the resource it comes from. */
export interface CompiledListener {
  readonly site: ListenerSite;
  readonly listener: Listener;
  /** Gateway phase. */
  readonly effective: readonly EffectivePolicy[];
  readonly rules: readonly ServedRule[];
}

/** A rule and the hostnames for which a listener serves it. */
export interface ServedRule extends CompiledRule {
  readonly hostnames: readonly string[];
  /** Its place in the route table. */
  readonly entry: RouteEntry<Route>;
}

/** The result of compilation, before it becomes a snapshot. */
export interface CompiledModel {
  readonly resources: ResourceSet;
  readonly policies: PolicyRegistry;
  readonly ports: readonly Port[];
  readonly listeners: readonly CompiledListener[];
  readonly backends: ReadonlyMap<string, Backend>;
}

/** Policy configuration from one place. */
export interface PolicyLayer {
  /** The `GatewayPolicy`, or the `HTTPRoute` whose rule has it as a filter. */
  readonly resource: Named;
  readonly traffic: TrafficPolicy;
  /** Target of the configuration, such as `HTTPRoute/default/llm`; its budgets belong to it. */
  readonly scope: string;
}

/** The layers of one level of attachment, the winner of a conflict first. */
export type PolicyLevel = readonly PolicyLayer[];

/** Merged configurations of one kind. */
export interface EffectivePolicy {
  readonly kind: PolicyKind;
  /** One for kinds that replace; else those of every level, the least specific first. */
  readonly layers: readonly PolicyLayer[];
}

/** Told of a layer that has no effect because another of the same level has the same kind. */
export type OnConflict = (
  loser: PolicyLayer,
  winner: PolicyLayer,
  kind: string,
) => void;

/**
 * Decides kind by kind what applies.
 *
 * @param levels The most specific first.
 * @param kinds In the order in which they run; that is the order of the result too.
 */
export function mergePolicies(
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
export function layersWith(
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
