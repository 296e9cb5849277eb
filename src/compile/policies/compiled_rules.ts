import type { TrafficPolicy } from "../../api/resources/gateway_policy_schema.ts";
import type {
  HttpRoute,
  HttpRouteRule,
} from "../../api/resources/http_route.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { PolicyRegistry } from "../../policy/contract/policy_registry.ts";
import type { PolicyKind } from "../../policy/contract/policy_kind.ts";
import type { RouteEntry } from "../../route/route_table.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type {
  BackendGroup,
  GroupChoice,
  Listener,
  Mirror,
  PersistentSessions,
  Port,
  Route,
  WeightedBackend,
} from "../../snapshot/snapshot.ts";
import type { ListenerSite } from "../attach/listener_sites.ts";
import type { Named } from "../memory/report.ts";

/** Policy configuration from one place. */
export interface PolicyLayer {
  /** The `GatewayPolicy`, or the `HTTPRoute` whose rule has it as a filter. */
  readonly resource: Named;
  readonly traffic: TrafficPolicy;
  /** Target of the configuration, such as `HTTPRoute/default/llm`; its budgets belong to it. */
  readonly scope: string;
}

/** Merged configurations of one kind. */
export interface EffectivePolicy {
  readonly kind: PolicyKind;
  /** One for kinds that replace; else those of every level, the least specific first. */
  readonly layers: readonly PolicyLayer[];
}

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
  /** Filters, timeouts and retries as they stand in the rule. */
  readonly own: TrafficPolicy;
  /** Index in `spec.rules`. */
  readonly index: number;
  readonly forwarding: Forwarding;
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
