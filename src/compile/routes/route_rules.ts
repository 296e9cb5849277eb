import { optionalDuration } from "../../api/schema/duration.ts";
import type { TrafficPolicy } from "../../api/resources/gateway_policy_schema.ts";
import type {
  HttpRoute,
  HttpRouteRule,
  RouteRetry,
  RouteTimeouts,
} from "../../api/resources/http_route.ts";
import type { ClientCertificate } from "../../http/client/upstream.ts";
import type { Backend, Retry } from "../../snapshot/snapshot.ts";
import { namespacedName } from "../resolve/references.ts";
import { type Attached, policiesAt } from "../attach/lookups.ts";
import { nameOfTarget, type PolicyTarget } from "../attach/attach_policies.ts";
import { trafficOfFilter } from "../policies/check_policies.ts";
import { describeLater, routeFields } from "../describe/describe_effective.ts";
import {
  type CompiledRule,
  type EffectivePolicy,
  type Forwarding,
  layersWith,
  mergePolicies,
  type OnConflict,
  type PolicyLayer,
  type PolicyLevel,
  type Rule,
} from "../policies/effective_policy.ts";
import {
  compileForwarding,
  type ForwardingContext,
} from "./compile_forwarding.ts";
import { type ListenerSite, targetsOf } from "../attach/listener_sites.ts";

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

/** Merges the policies of a rule of a listener, the least specific first: gateway, listener set, listener, route, rule, inline, filters. */
export function compileRule(
  rule: Rule,
  site: ListenerSite,
  context: ForwardingContext,
): CompiledRule {
  const { route, index, forwarding } = rule;
  const levels = levelsOf(rule, site, context.attached);
  const onConflict = reportConflict(context);
  const kinds = context.policies.running("route");
  const effective = mergePolicies(levels, kinds, onConflict);
  const timeouts = mergeTimeouts(levels, onConflict);
  const retry = mergeRetry(levels, onConflict);
  warnWithoutBackend(rule, effective, context);
  warnWithoutIdentity(effective, site, context);
  return {
    rule,
    effective,
    route: {
      key: `${namespacedName(route)}/${index}`,
      name: route.metadata.name,
      policies: context.factory.createAll(effective, site.spec.port),
      describePolicies: describeLater(
        [
          ...effective.map(({ kind: { name }, layers }) => ({ name, layers })),
          { name: "timeouts", layers: layersOf({ timeouts }) },
          { name: "retry", layers: layersOf({ retry }) },
        ],
        [...kinds, ...routeFields],
        context.environment,
      ),
      ...presenting(
        context.attached.read(({ clientCertificates }) =>
          clientCertificates.get(site.gateway)
        ),
        forwarding,
      ),
      requestTimeoutMs: optionalDuration(timeouts.request),
      backendTimeoutMs: optionalDuration(timeouts.backendRequest),
      retry: retry && compileRetry(retry),
    },
  };
}

/** Returns the policies that are attached to a target; `phase` is `spec.phase`. */
export function levelAt(
  attached: Attached,
  target: PolicyTarget,
  phase?: "PreRouting" | "inline",
): PolicyLevel {
  const scope = nameOfTarget(target);
  return policiesAt(attached, target, phase).map((resource) => ({
    resource,
    traffic: resource.spec.traffic ?? {},
    scope,
  }));
}

/** Returns a function that warns about policies without effect. */
export function reportConflict(
  { report }: Pick<ForwardingContext, "report">,
): OnConflict {
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

function trafficOfRule(
  { filters, timeouts, retry }: HttpRouteRule,
): TrafficPolicy {
  const parts = (filters ?? []).map(trafficOfFilter);
  return parts.reduce((all, part) => ({ ...all, ...part }), {
    ...(timeouts !== undefined && { timeouts }),
    ...(retry !== undefined && { retry }),
  });
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

/** Describes merged time-outs or retries as a layer; returns nothing when none are set. */
function layersOf(
  merged: {
    readonly timeouts?: RouteTimeouts;
    readonly retry?: RouteRetry | undefined;
  },
): readonly Pick<PolicyLayer, "traffic">[] {
  const { timeouts, retry } = merged;
  const isSet = Object.keys(timeouts ?? retry ?? {}).length > 0;
  return isSet
    ? [{ traffic: { ...(timeouts && { timeouts }), ...(retry && { retry }) } }]
    : [];
}

const errorsOf = {
  Closed: "upstream_closed",
  Timeout: "upstream_timeout",
} as const;

/** Fills in defaults, which the Gateway API leaves to implementations: one more attempt, after 25 ms. */
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

/** Warns of policies that read an identity which no policy of the route or its gateway verifies. */
function warnWithoutIdentity(
  effective: readonly EffectivePolicy[],
  site: ListenerSite,
  { attached, factory, policies, report }: ForwardingContext,
): void {
  const early = targetsOf(site).flatMap((target) =>
    levelAt(attached, target, "PreRouting")
  );
  const isVerified = (name: string) =>
    policies.kinds.some((kind) =>
      kind.identity?.name === name &&
      (effective.some((each) => each.kind === kind) ||
        early.some(({ traffic }) => traffic[kind.name] !== undefined))
    );
  for (const { kind, layers } of effective) {
    for (const { resource, traffic } of layers) {
      for (const problem of factory.problemsOf(kind, traffic)) {
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

function warnWithoutBackend(
  { route, index, forwarding }: Rule,
  effective: readonly EffectivePolicy[],
  { report }: ForwardingContext,
): void {
  const responds = effective.some(({ kind }) => kind.respondsAlways);
  if (responds || forwarding.totalWeight > 0) return;
  const cause = forwarding.backends.length === 0
    ? "the route has no backends"
    : "no backend has a weight above 0";
  const message = `Cannot forward requests: ${cause}, so they get 500`;
  report.warning(route, { path: ["spec", "rules", index], message });
}

/** Returns the forwarding of a rule by a gateway that presents a certificate to backends with TLS. */
function presenting(
  clientCertificate: ClientCertificate | undefined,
  forwarding: Forwarding,
): Forwarding {
  if (clientCertificate === undefined) return forwarding;
  const present = (backend: Backend): Backend => {
    const { tls } = backend;
    return tls === undefined || tls === "invalid"
      ? backend
      : { ...backend, tls: { ...tls, clientCertificate } };
  };
  return {
    ...forwarding,
    backends: forwarding.backends.map((each) => ({
      ...each,
      backend: each.backend && present(each.backend),
    })),
    mirrors: forwarding.mirrors.map((each) => ({
      ...each,
      backend: present(each.backend),
    })),
  };
}
