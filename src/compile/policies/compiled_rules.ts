import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { PolicyRegistry } from "../../policy/contract/policy_registry.ts";
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
import type { EffectivePolicy, OwnRule } from "./effective_policy.ts";

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
export interface Rule extends OwnRule {
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
