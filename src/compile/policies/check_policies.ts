import type { TrafficPolicy } from "../../api/resources/gateway_policy.ts";
import type {
  BackendFilter,
  HttpFilter,
} from "../../api/resources/http_filter.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import {
  backendPhaseKinds,
  gatewayPhaseKinds,
  routePhaseKinds,
} from "../../policy/registry.ts";
import type { PolicyKind } from "../../policy/policy_kind.ts";
import type { Named, Report } from "../report.ts";
import type { PolicyChecks } from "./policy_checks.ts";

interface CheckContext {
  readonly checks: PolicyChecks;
  readonly report: Report;
}

/** A resource and where in it a policy or filter is configured. */
interface Site {
  readonly resource: Named;
  readonly path: DiagnosticPath;
}

/** Reports the problems of policies and filters, attached or not. */
export function checkPolicies(
  resources: ResourceSet,
  context: CheckContext,
): void {
  for (const policy of resources.gatewayPolicies) {
    const { traffic = {}, backend = {}, phase } = policy.spec;
    const kinds = phase === "PreRouting" ? gatewayPhaseKinds : routePhaseKinds;
    const site = (field: string) => ({
      resource: policy,
      path: ["spec", field],
    });
    check(site("traffic"), traffic, kinds, context);
    check(site("backend"), backend, backendPhaseKinds, context);
  }
  for (const route of resources.httpRoutes) {
    for (const [index, rule] of route.spec.rules.entries()) {
      const path = ["spec", "rules", index];
      checkFilters({ resource: route, path }, rule.filters, context);
      for (const [number, { filters }] of (rule.backendRefs ?? []).entries()) {
        const at = [...path, "backendRefs", number];
        checkFilters({ resource: route, path: at }, filters, context);
      }
    }
  }
}

/** The policy field that does what a filter does; an empty one for `RequestMirror`, which is no policy. */
export function trafficOfFilter(
  filter: HttpFilter | BackendFilter,
): TrafficPolicy {
  switch (filter.type) {
    case "CORS":
      return { cors: filter.cors };
    case "RequestHeaderModifier":
      return { requestHeaderModifier: filter.requestHeaderModifier };
    case "ResponseHeaderModifier":
      return { responseHeaderModifier: filter.responseHeaderModifier };
    case "URLRewrite":
      return { urlRewrite: filter.urlRewrite };
    case "RequestRedirect":
      return { requestRedirect: filter.requestRedirect };
    case "RequestMirror":
      return {};
  }
}

function checkFilters(
  { resource, path }: Site,
  filters: readonly (HttpFilter | BackendFilter)[] | undefined,
  context: CheckContext,
): void {
  for (const [index, filter] of (filters ?? []).entries()) {
    const site = { resource, path: [...path, "filters", index] };
    check(site, trafficOfFilter(filter), routePhaseKinds, context);
  }
}

function check(
  { resource, path }: Site,
  traffic: TrafficPolicy,
  kinds: readonly PolicyKind[],
  { checks, report }: CheckContext,
): void {
  for (const kind of kinds) {
    for (const problem of checks.problemsOf(kind, traffic)) {
      const { suggestion, offset, isWarning } = problem;
      // What has a place in a text may quote it.
      const message = offset === undefined
        ? problem.message
        : checks.options.hide(problem.message);
      const where = [...path, kind.kind, ...problem.path];
      const found = { path: where, message, suggestion, offset };
      if (isWarning) report.warning(resource, found);
      else report.error(resource, found);
    }
  }
}
