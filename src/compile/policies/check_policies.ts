import type { TrafficPolicy } from "../../api/resources/gateway_policy.ts";
import type {
  BackendFilter,
  HttpFilter,
} from "../../api/resources/http_filter.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import type { Hide } from "../../base/redaction.ts";
import {
  backendPhaseKinds,
  gatewayPhaseKinds,
  routePhaseKinds,
} from "../../policy/registry.ts";
import type { PolicyKind, ReadFile } from "../../policy/policy_kind.ts";
import { createHiding } from "../describe/redact_configuration.ts";
import type { Named, Report } from "../report.ts";

interface CheckContext {
  readonly readFile: ReadFile;
  readonly report: Report;
  readonly hide: Hide;
}

/** A resource and where in it a policy or filter is configured. */
interface Site {
  readonly resource: Named;
  readonly path: DiagnosticPath;
}

/** Reports what is wrong with policies and filters, attached or not. */
export function checkPolicies(
  resources: ResourceSet,
  readFile: ReadFile,
  report: Report,
): void {
  const hide = createHiding(resources.environment);
  const context = { readFile, report, hide };
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
  { readFile, report, hide }: CheckContext,
): void {
  for (const kind of kinds) {
    for (const problem of kind.check(traffic, readFile)) {
      const { suggestion, offset, isWarning } = problem;
      // What has a place in a text may quote it.
      const message = offset === undefined
        ? problem.message
        : hide(problem.message);
      const where = [...path, kind.kind, ...problem.path];
      const found = { path: where, message, suggestion, offset };
      if (isWarning) report.warning(resource, found);
      else report.error(resource, found);
    }
  }
}
