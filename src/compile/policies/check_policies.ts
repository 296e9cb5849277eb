import type { TrafficPolicy } from "../../api/resources/gateway_policy_schema.ts";
import type { CompileMemory, ResultTable } from "../memory/compile_memory.ts";
import type {
  CheckOptions,
  PolicyKind,
  PolicyProblem,
} from "../../policy/contract/policy_kind.ts";
import type { BackendFilter, HttpFilter } from "../../api/rules/http_filter.ts";
import type { HttpRoute } from "../../api/resources/http_route.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import type { PolicyRegistry } from "../../policy/contract/policy_registry.ts";
import type { Named, Report } from "../memory/report.ts";

/** Checks the policies of a configuration, each one once, however many routes it is attached to. */
export class PolicyChecks {
  readonly options: CheckOptions;
  /** By configuration of one kind, such as the object in `traffic.cors`. */
  readonly #problems: ResultTable<object, readonly PolicyProblem[]>;

  constructor(options: CheckOptions, memory: CompileMemory) {
    this.options = options;
    this.#problems = memory.table();
  }

  /** Returns the problems of what `traffic` configures of a kind. */
  problemsOf(
    kind: PolicyKind,
    traffic: TrafficPolicy,
  ): readonly PolicyProblem[] {
    const config = traffic[kind.name];
    if (typeof config !== "object" || config === null) return [];
    return this.#problems.recall(
      config,
      () => kind.check(traffic, this.options),
    );
  }
}

interface CheckContext {
  readonly policies: PolicyRegistry;
  readonly checks: PolicyChecks;
  readonly checkedRoutes: ResultTable<HttpRoute, true>;
  readonly report: Report;
}

/** A resource and the place in it where a policy or filter is configured. */
interface Site {
  readonly resource: Named;
  readonly path: DiagnosticPath;
}

/** Reports the problems of policies and filters, attached or not. */
export function* checkPolicies(
  resources: ResourceSet,
  context: CheckContext,
): Generator<void> {
  const { policies } = context;
  for (const policy of resources.gatewayPolicies) {
    const { traffic = {}, backend = {}, phase } = policy.spec;
    const kinds = policies.running(
      phase === "PreRouting" ? "gateway" : "route",
    );
    const site = (field: string) => ({
      resource: policy,
      path: ["spec", field],
    });
    check(site("traffic"), traffic, kinds, context);
    check(site("backend"), backend, policies.running("backend"), context);
    yield;
  }
  for (const route of resources.httpRoutes) {
    context.checkedRoutes.recall(route, () => checkRoute(route, context));
    yield;
  }
}

function checkRoute(route: HttpRoute, context: CheckContext): true {
  for (const [index, rule] of route.spec.rules.entries()) {
    const path = ["spec", "rules", index];
    checkFilters({ resource: route, path }, rule.filters, context);
    for (const [number, { filters }] of (rule.backendRefs ?? []).entries()) {
      const at = [...path, "backendRefs", number];
      checkFilters({ resource: route, path: at }, filters, context);
    }
  }
  return true;
}

/** Returns the policies that filters configure; the field of a filter has the name of the kind of policy that does the same. */
export function trafficOfFilter(
  { type: _, ...traffic }: HttpFilter | BackendFilter,
): TrafficPolicy {
  return traffic;
}

function checkFilters(
  { resource, path }: Site,
  filters: readonly (HttpFilter | BackendFilter)[] | undefined,
  context: CheckContext,
): void {
  for (const [index, filter] of (filters ?? []).entries()) {
    const site = { resource, path: [...path, "filters", index] };
    check(site, trafficOfFilter(filter), context.policies.kinds, context);
  }
}

function check(
  { resource, path }: Site,
  traffic: TrafficPolicy,
  kinds: readonly PolicyKind[],
  { checks, report }: CheckContext,
): void {
  for (const kind of kinds) {
    const at = { resource, path: [...path, kind.name] };
    for (const problem of checks.problemsOf(kind, traffic)) {
      // It depends on the other policies of a route.
      if (problem.unlessVerified !== undefined) continue;
      // A message with a position in a string may quote the string.
      const message = problem.offset === undefined
        ? problem.message
        : checks.options.hide(problem.message);
      reportProblem(at, { ...problem, message }, report);
    }
  }
}

/** Reports a problem of the policy at `site`. */
export function reportProblem(
  { resource, path }: Site,
  { path: within, message, suggestion, offset, isWarning }: PolicyProblem,
  report: Report,
): void {
  const found = { path: [...path, ...within], message, suggestion, offset };
  if (isWarning) report.warning(resource, found);
  else report.error(resource, found);
}
