import type { HttpRoute } from "../../api/resources/http_route.ts";
import type { ResourceDiagnostic } from "../../base/diagnostic.ts";
import { areSame } from "../memory/compile_memory.ts";
import { namespacedName } from "../resolve/precedence.ts";
import { type Condition, unless } from "./conditions.ts";

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

/** The last outcome of each route: an outcome stays the same object while nothing of it changes. */
const described = new WeakMap<HttpRoute, {
  readonly parents: string;
  readonly reports: readonly ResourceDiagnostic[];
  readonly outcome: RouteOutcome;
}>();

/** Derives the conditions of routes; `known` has the gateways and listener sets. */
export function* describeRoutes(
  httpRoutes: readonly HttpRoute[],
  known: ReadonlySet<string>,
  reportsOf: (route: HttpRoute) => readonly ResourceDiagnostic[],
): Generator<void, readonly RouteOutcome[]> {
  const parents = [...known].join();
  const routes: RouteOutcome[] = [];
  for (const route of httpRoutes) {
    const reports = reportsOf(route);
    const last = described.get(route);
    const isSame = last?.parents === parents && areSame(last.reports, reports);
    const outcome = isSame
      ? last.outcome
      : describeRoute(route, known, reports);
    if (!isSame) described.set(route, { parents, reports, outcome });
    routes.push(outcome);
    yield;
  }
  return routes;
}

/** Describes a route at its parents; parents that are not in the configuration belong to other controllers. */
function describeRoute(
  route: HttpRoute,
  known: ReadonlySet<string>,
  reports: readonly ResourceDiagnostic[],
): RouteOutcome {
  const reference = reports.find(({ path }) => path[1] === "rules");
  const resolved = unless(reference, "ResolvedRefs");
  const parents = route.spec.parentRefs.flatMap((parentRef, index) => {
    const { kind, name, namespace = route.metadata.namespace } = parentRef;
    if (!known.has(`${kind}/${namespace}/${name}`)) return [];
    const report = reports.find(({ path }) =>
      path[1] === "parentRefs" && path[2] === index
    );
    return [{ index, conditions: [unless(report, "Accepted"), resolved] }];
  });
  return { kind: route.kind, name: namespacedName(route), parents };
}
