import type { HttpRoute } from "../../api/resources/http_route.ts";
import {
  resourceKey,
  type ResourceSet,
} from "../../api/resources/resource_set.ts";
import type { ResourceDiagnostic } from "../../base/diagnostic.ts";
import type { CompiledListener } from "../policies/compiled_model.ts";
import { areSame } from "../memory/compile_memory.ts";
import { type Condition, conditionYes } from "../attach/conditions.ts";
import {
  describeGateway,
  describeListenerSet,
  failed,
  gatewayOfSet,
  type GatewayOutcome,
  listenerKey,
  type ListenerSetOutcome,
} from "../attach/listener_outcomes.ts";
import {
  describePolicyOutcomes,
  type PolicyOutcome,
} from "./policy_outcomes.ts";
import { namespacedName } from "../resolve/precedence.ts";

/** State of a route at each of its gateways and listener sets; Gateway API `RouteParentStatus`. */
export interface RouteOutcome {
  readonly kind: string;
  /** `namespace/name`. */
  readonly name: string;
  readonly parents: readonly {
    /** Index in `spec.parentRefs`. */
    readonly index: number;
    readonly conditions: readonly Condition[];
  }[];
}

/** Results of compilation per resource, from which the statuses in a cluster are written. */
export interface Outcomes {
  readonly gateways: readonly GatewayOutcome[];
  readonly listenerSets: readonly ListenerSetOutcome[];
  readonly routes: readonly RouteOutcome[];
  readonly policies: readonly PolicyOutcome[];
}

/** Dependencies of describing outcomes. */
export interface OutcomeSources {
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
  const parents = [...known].join();
  const routes: RouteOutcome[] = [];
  for (const route of httpRoutes) {
    const reports = reportsOf(route);
    const last = described.get(route);
    if (last?.parents === parents && areSame(last.reports, reports)) {
      routes.push(last.outcome);
    } else {
      const outcome = describeRoute(route, known, reports);
      described.set(route, { parents, reports, outcome });
      routes.push(outcome);
    }
    yield;
  }
  return {
    gateways: [...own.values()],
    listenerSets: sets,
    routes,
    policies: yield* describePolicyOutcomes(resources, {
      listeners,
      reportsOf,
    }),
  };
}

/** The last outcome of each route: an outcome stays the same object while nothing of it changes. */
const described = new WeakMap<HttpRoute, {
  readonly parents: string;
  readonly reports: readonly ResourceDiagnostic[];
  readonly outcome: RouteOutcome;
}>();

/** Returns the number of routes of each listener. */
function countRoutes(
  listeners: readonly CompiledListener[],
): ReadonlyMap<string, number> {
  return new Map(listeners.map(({ site, rules }) => [
    listenerKey(site.owner, site.spec),
    new Set(rules.map(({ rule }) => rule.route)).size,
  ]));
}

/** Describes a route at its parents; parents that are not in the configuration belong to other controllers. */
function describeRoute(
  route: HttpRoute,
  known: ReadonlySet<string>,
  reports: readonly ResourceDiagnostic[],
): RouteOutcome {
  const reference = reports.find(({ path }) => path[1] === "rules");
  const resolved = reference === undefined
    ? conditionYes("ResolvedRefs")
    : failed("ResolvedRefs", reference);
  const parents = route.spec.parentRefs.flatMap((parentRef, index) => {
    const { kind, name, namespace = route.metadata.namespace } = parentRef;
    if (!known.has(`${kind}/${namespace}/${name}`)) return [];
    const report = reports.find(({ path }) =>
      path[1] === "parentRefs" && path[2] === index
    );
    const accepted = report === undefined
      ? conditionYes("Accepted")
      : failed("Accepted", report);
    return [{ index, conditions: [accepted, resolved] }];
  });
  return { kind: route.kind, name: namespacedName(route), parents };
}
