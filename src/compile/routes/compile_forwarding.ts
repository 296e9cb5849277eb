import type {
  BackendFilter,
  RequestMirror,
} from "../../api/rules/http_filter.ts";
import type {
  BackendRef,
  HttpRoute,
  HttpRouteRule,
} from "../../api/resources/http_route.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import type { PolicyRegistry } from "../../policy/contract/policy_registry.ts";
import type {
  Mirror,
  PersistentSessions,
  WeightedBackend,
} from "../../snapshot/snapshot.ts";
import {
  type PolicyChecks,
  trafficOfFilter,
} from "../policies/check_policies.ts";
import { describeLater } from "../describe/describe_effective.ts";
import type { PolicyFactory } from "../policies/policy_factory.ts";
import type { Forwarding } from "../policies/compiled_rules.ts";
import { type Attached, policiesAt } from "../attach/attach_policies.ts";
import { type Inputs, namespacedName } from "../resolve/references.ts";
import type { Report } from "../memory/report.ts";
import { groupBackends } from "./backend_groups.ts";
import {
  findWebUi,
  resolveBackend,
  type Unresolved,
} from "./resolve_backend.ts";
import { createHmac } from "node:crypto";
import type { SessionPersistence } from "../../api/rules/session_persistence.ts";
import { optionalDuration } from "../../api/schema/duration.ts";

/** Dependencies of resolving references. */
export interface ForwardingContext {
  readonly policies: PolicyRegistry;
  readonly inputs: Inputs;
  readonly attached: Attached;
  readonly checks: PolicyChecks;
  readonly factory: PolicyFactory;
  readonly report: Report;
  /** As `ResourceSet.environment`. */
  readonly environment: readonly string[] | undefined;
  /** As `CompileOptions.sessionSecret`. */
  readonly sessionSecret?: string | undefined;
  /** See `ResourceSet`. */
  readonly isolatesErrors?: boolean;
}

/**
 * Resolves the backends of a rule. An unresolved reference keeps its weight: "the proportion of requests that would otherwise have
 * been routed to an invalid backend MUST receive a 500" (Gateway API, `HTTPRouteRule.backendRefs`). An unresolved mirror is dropped.
 */
export function compileForwarding(
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
  const { sessionPersistence } = rule;
  const { report } = context;
  return {
    ...{
      backends,
      totalWeight,
      ...groupBackends(backends, { route, rule, path, report }),
      mirrors,
    },
    ...(sessionPersistence && {
      sessions: compileSessions(
        route,
        sessionPersistence,
        context.sessionSecret,
      ),
    }),
  };
}

function compileBackendRef(
  route: HttpRoute,
  ref: BackendRef,
  path: DiagnosticPath,
  context: ForwardingContext,
): WeightedBackend {
  const resolved = findWebUi(route, ref) ??
    resolveBackend(route, ref, context);
  const { weight, priority = 0 } = ref;
  const { backend } = resolved;
  if (backend !== undefined) {
    const own = backendPolicies(route, ref, context);
    return { weight, priority, backend, problem: undefined, ...own };
  }
  const effect = "its share of requests gets 500";
  reportUnresolved(route, path, { resolved, effect }, context);
  const { problem } = resolved;
  const kinds = context.policies.running("backend");
  const describePolicies = describeLater([], kinds);
  return { weight, priority, backend, problem, policies: [], describePolicies };
}

function reportUnresolved(
  route: HttpRoute,
  path: DiagnosticPath,
  { resolved: { problem, field, suggestion, reason, isRejected }, effect }: {
    readonly resolved: Unresolved;
    readonly effect: string;
  },
  { report, isolatesErrors = false }: ForwardingContext,
): void {
  // The error of the backend keeps the configuration from serving anything.
  if (isRejected === true && !isolatesErrors) return;
  report.warning(route, {
    path: [...path, field],
    message: `${problem}; ${effect}`,
    suggestion,
    reason,
  });
}

function backendPolicies(
  route: HttpRoute,
  ref: BackendRef,
  { policies: registry, attached, factory, environment }: ForwardingContext,
): Pick<WeightedBackend, "policies" | "describePolicies"> {
  const { namespace } = route.metadata;
  const resource = {
    metadata: { namespace: ref.namespace ?? namespace, name: ref.name },
  };
  const own = ref.kind === "GatewayBackend"
    ? policiesAt(attached, { kind: ref.kind, resource })
    : [];
  const layers = [
    ...(ref.filters ?? []).map((filter: BackendFilter) =>
      trafficOfFilter(filter)
    ),
    ...own.slice(0, 1).map(({ spec }) => spec.backend ?? {}),
  ];
  const kinds = registry.running("backend");
  const policies = layers.flatMap((traffic) =>
    kinds.map((kind) =>
      factory.create(kind, traffic, { listenerPort: 0, resource: route })
    )
  ).filter((policy) => policy !== undefined);
  const configured = kinds.map(({ name }) => ({
    name,
    layers: layers.map((traffic) => ({ traffic })),
  }));
  return {
    policies,
    describePolicies: describeLater(configured, kinds, environment),
  };
}

function compileMirror(
  route: HttpRoute,
  mirror: RequestMirror,
  path: DiagnosticPath,
  context: ForwardingContext,
): Mirror[] {
  const resolved = resolveBackend(route, mirror.backendRef, context);
  if (resolved.backend !== undefined) {
    return [{ backend: resolved.backend, fraction: fractionOf(mirror) }];
  }
  const effect = "nothing is mirrored";
  reportUnresolved(route, path, { resolved, effect }, context);
  return [];
}

function fractionOf({ percent, fraction }: RequestMirror): number {
  if (percent !== undefined) return percent / 100;
  return fraction === undefined ? 1 : fraction.numerator / fraction.denominator;
}

/**
 * Compiles the sessions of a rule. Every process with the same resources derives the same key, so that sessions go on at other
 * replicas and after restarts.
 * @param secret `config.sessionSecret`; without it, the key comes from the UID of the route, which clients do not know.
 */
export function compileSessions(
  { kind, metadata }: HttpRoute,
  { type, sessionName, absoluteTimeout, cookieConfig }: SessionPersistence,
  secret: string | undefined,
): PersistentSessions {
  const name = `${kind}/${namespacedName({ metadata })}`;
  const uid = typeof metadata.uid === "string" ? metadata.uid : "";
  const key = createHmac("sha256", secret ?? uid)
    .update(`session persistence of ${name}`).digest();
  const ownName = createHmac("sha256", "").update(name).digest("hex");
  return {
    type,
    name: sessionName ??
      (type === "Header"
        ? "x-gateway-session"
        : `gateway-session-${ownName.slice(0, 8)}`),
    lifetimeMs: optionalDuration(absoluteTimeout),
    isPermanent: cookieConfig?.lifetimeType === "Permanent",
    key,
  };
}
