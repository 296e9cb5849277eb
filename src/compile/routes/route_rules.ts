import type { HttpMatch } from "../../api/rules/http_match.ts";
import { loadPatterns, patternOf } from "../../base/pattern.ts";
import { optionalDuration } from "../../api/schema/duration.ts";
import type { TrafficPolicy } from "../../api/resources/gateway_policy_schema.ts";
import type {
  HttpRoute,
  HttpRouteRule,
  RouteRetry,
  RouteTimeouts,
} from "../../api/resources/http_route.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import type { Retry } from "../../snapshot/snapshot.ts";
import { namespacedName } from "../resolve/precedence.ts";
import { trafficOfFilter } from "../policies/check_policies.ts";
import {
  type ConfiguredField,
  routeFields,
} from "../describe/describe_effective.ts";
import type {
  CompiledRule,
  Forwarding,
  Rule,
} from "../policies/compiled_rules.ts";
import { mergeForRule } from "../policies/effective_policy.ts";
import {
  compileBackendRef,
  compileMirror,
  type ForwardingContext,
} from "./backend_references.ts";
import { presenting } from "../backends/backend_tls.ts";
import { compileChoice } from "./rule_choice.ts";
import type { ListenerSite } from "../attach/listener_sites.ts";

/** Loads the engine for regular expressions if a route has one. */
export async function loadPatternsOf(
  routes: readonly HttpRoute[],
): Promise<void> {
  const hasPattern = (match: HttpMatch) => patternsOf(match).length > 0;
  const needsEngine = routes.some(({ spec: { rules } }) =>
    rules.some(({ matches }) => matches.some(hasPattern))
  );
  if (needsEngine) await loadPatterns();
}

/** Returns the regular expressions of a match, and their places in it. */
function patternsOf({ path, headers = [], queryParams = [] }: HttpMatch) {
  return [
    { condition: path, at: ["path"] },
    ...headers.map((condition, index) => ({
      condition,
      at: ["headers", index],
    })),
    ...queryParams.map((condition, index) => ({
      condition,
      at: ["queryParams", index],
    })),
  ].filter(({ condition: { type } }) => type === "RegularExpression");
}

/** Reports invalid regular expressions in the matches of a route. */
export function checkPatterns(
  route: HttpRoute,
  { hide, report }: ForwardingContext,
): void {
  for (const [index, { matches }] of route.spec.rules.entries()) {
    for (const [number, match] of matches.entries()) {
      for (const { condition, at } of patternsOf(match)) {
        const { problem } = patternOf(condition);
        if (problem === undefined) continue;
        const within = ["matches", number, ...at, "value"];
        const path = ["spec", "rules", index, ...within];
        const message = hide(`invalid regular expression: ${problem}`);
        report.error(route, { path, message });
      }
    }
  }
}

/** Resolves the backends of the rules of a route. */
export function prepareRules(
  route: HttpRoute,
  context: ForwardingContext,
): Rule[] {
  return route.spec.rules.map((spec, index) => {
    const path = ["spec", "rules", index];
    const forwarding = compileForwarding(route, spec, path, context);
    return { route, spec, index, forwarding, own: trafficOfRule(spec) };
  });
}

/**
 * Resolves the backends of a rule. An unresolved reference keeps its weight: "the proportion of requests that would otherwise have
 * been routed to an invalid backend MUST receive a 500" (Gateway API, `HTTPRouteRule.backendRefs`). An unresolved mirror is dropped.
 */
function compileForwarding(
  route: HttpRoute,
  rule: HttpRouteRule,
  path: DiagnosticPath,
  context: ForwardingContext,
): Forwarding {
  const backends = (rule.backendRefs ?? []).map((ref, index) =>
    compileBackendRef(route, ref, [...path, "backendRefs", index], context)
  );
  const mirrors = (rule.filters ?? []).flatMap((filter, index) =>
    filter.type === "RequestMirror"
      ? compileMirror(
        route,
        filter.requestMirror,
        [...path, "filters", index, "requestMirror", "backendRef"],
        context,
      )
      : []
  );
  const totalWeight = backends.reduce((sum, { weight }) => sum + weight, 0);
  const { report, sessionSecret } = context;
  const placed = { route, rule, path, report, sessionSecret };
  return { backends, totalWeight, mirrors, ...compileChoice(backends, placed) };
}

/** Compiles a rule as a listener serves it. */
export function compileRule(
  rule: Rule,
  site: ListenerSite,
  context: ForwardingContext,
): CompiledRule {
  const { route, index, forwarding } = rule;
  const { effective, timeouts, retry } = mergeForRule(rule, site, context);
  return {
    rule,
    effective,
    route: {
      key: `${namespacedName(route)}/${index}`,
      name: route.metadata.name,
      policies: context.factory.createAll(effective, site.spec.port),
      ...presenting(
        context.attached.read(({ clientCertificates }) =>
          clientCertificates.get(site.gateway)
        ),
        forwarding,
      ),
      requestTimeoutMs: optionalDuration(timeouts.request),
      backendTimeoutMs: optionalDuration(timeouts.backendRequest),
      retry: retry && compileRetry(retry),
      describePolicies: context.describeLater(
        [
          ...effective.map(({ kind: { name }, layers }) => ({ name, layers })),
          configuredField("timeouts", timeouts),
          configuredField("retry", retry),
        ],
        [...context.policies.running("route"), ...routeFields],
      ),
    },
  };
}

function trafficOfRule(
  { filters, timeouts, retry }: HttpRouteRule,
): TrafficPolicy {
  const parts = (filters ?? []).map(trafficOfFilter);
  return parts.reduce((all, part) => ({ ...all, ...part }), {
    ...(timeouts !== undefined && { timeouts }),
    ...(retry !== undefined && { retry }),
  });
}

/** Describes merged time-outs or retries; without layers when none are set. */
function configuredField(
  name: "timeouts" | "retry",
  merged: RouteTimeouts | RouteRetry = {},
): ConfiguredField {
  const isSet = Object.keys(merged).length > 0;
  return { name, layers: isSet ? [{ traffic: { [name]: merged } }] : [] };
}

const errorsOf = {
  Closed: "upstream_closed",
  Timeout: "upstream_timeout",
} as const;

/** Compiles the retries of a rule. Fills in defaults, which the Gateway API leaves to implementations: one more attempt, after 25 ms. */
function compileRetry(
  { attempts, codes, on = [], backoff }: RouteRetry,
): Retry {
  return {
    attempts: attempts ?? 1,
    codes: new Set(codes),
    errors: new Set(on.map((failure) => errorsOf[failure])),
    backoffMs: optionalDuration(backoff) ?? 25,
  };
}
