import type {
  BackendFilter,
  RequestMirror,
} from "../../api/resources/http_filter.ts";
import type {
  BackendRef,
  HttpRoute,
  HttpRouteRule,
} from "../../api/resources/http_route.ts";
import { POLICY_API_GROUP } from "../../api/resources/group.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import type { PolicyRegistry } from "../../policy/policy_registry.ts";
import type {
  Backend,
  Mirror,
  WeightedBackend,
} from "../../snapshot/snapshot.ts";
import type { PolicyAttachments } from "../policies/attach_policies.ts";
import { trafficOfFilter } from "../policies/check_policies.ts";
import { suggestBackend } from "./compile_backends.ts";
import { describeLater } from "../describe/describe_effective.ts";
import type { PolicyFactory } from "../policies/policy_factory.ts";
import type { Forwarding } from "../compiled_model.ts";
import type { Report } from "../report.ts";
import { findWebUi } from "./compile_web_ui.ts";

/** Dependencies of resolving references. */
export interface ForwardingContext {
  readonly policies: PolicyRegistry;
  readonly backends: ReadonlyMap<string, Backend>;
  readonly attachments: PolicyAttachments;
  readonly factory: PolicyFactory;
  readonly report: Report;
  /** As `ResourceSet.environment`. */
  readonly environment: readonly string[] | undefined;
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
  return { backends, totalWeight, mirrors };
}

function compileBackendRef(
  route: HttpRoute,
  ref: BackendRef,
  path: DiagnosticPath,
  context: ForwardingContext,
): WeightedBackend {
  const webUi = findWebUi(ref);
  const resolved = webUi === undefined
    ? resolveBackend(route, ref, context)
    : { backend: webUi };
  if (resolved.backend === undefined) {
    const message = `${resolved.problem}; its share of requests gets 500`;
    const { field, suggestion } = resolved;
    context.report.warning(route, {
      path: [...path, field],
      message,
      suggestion,
    });
    return {
      weight: ref.weight,
      backend: undefined,
      problem: resolved.problem,
      policies: [],
      describePolicies: describeLater([], context.policies.running("backend")),
    };
  }
  return {
    weight: ref.weight,
    backend: resolved.backend,
    problem: undefined,
    ...backendPolicies(route, ref, context),
  };
}

function backendPolicies(
  route: HttpRoute,
  ref: BackendRef,
  { policies: registry, attachments, factory, environment }: ForwardingContext,
): Pick<WeightedBackend, "policies" | "describePolicies"> {
  const { namespace } = route.metadata;
  const resource = { metadata: { namespace, name: ref.name } };
  const attached = attachments.at({ kind: "GatewayBackend", resource });
  const layers = [
    ...(ref.filters ?? []).map((filter: BackendFilter) =>
      trafficOfFilter(filter)
    ),
    ...attached.slice(0, 1).map(({ spec }) => spec.backend ?? {}),
  ];
  const kinds = registry.running("backend");
  const policies = layers.flatMap((traffic) =>
    kinds.map((kind) =>
      factory.create(kind, traffic, { listenerPort: 0, namespace })
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
  if (resolved.backend === undefined) {
    const message = `${resolved.problem}; nothing is mirrored`;
    const { field, suggestion } = resolved;
    context.report.warning(route, {
      path: [...path, field],
      message,
      suggestion,
    });
    return [];
  }
  return [{ backend: resolved.backend, fraction: fractionOf(mirror) }];
}

function fractionOf({ percent, fraction }: RequestMirror): number {
  if (percent !== undefined) return percent / 100;
  return fraction === undefined ? 1 : fraction.numerator / fraction.denominator;
}

type Resolved = { readonly backend: Backend } | {
  readonly backend: undefined;
  readonly problem: string;
  /** The invalid field of the reference. */
  readonly field: keyof BackendRef;
  readonly suggestion?: string | undefined;
};

/** Rejects unknown kinds, missing resources and other namespaces: there is no ReferenceGrant (Gateway API, `HTTPBackendRef`). */
function resolveBackend(
  route: HttpRoute,
  ref: RequestMirror["backendRef"],
  { backends, report }: ForwardingContext,
): Resolved {
  const own = route.metadata.namespace;
  if (ref.kind !== "GatewayBackend" || ref.group !== POLICY_API_GROUP) {
    const problem =
      `Cannot send requests to kind "${ref.kind}": expected "GatewayBackend" of group "${POLICY_API_GROUP}"`;
    return { backend: undefined, field: "kind", problem };
  }
  if ((ref.namespace ?? own) !== own) {
    const problem =
      `Cannot refer to backends of namespace "${ref.namespace}" from "${own}"`;
    return { backend: undefined, field: "namespace", problem };
  }
  const key = `${own}/${ref.name}`;
  const backend = backends.get(key);
  if (backend === undefined) {
    const problem = `Backend "${key}" not found`;
    const suggestion = suggestBackend(ref.name, backends, report);
    return { backend, field: "name", problem, suggestion };
  }
  if (ref.port !== undefined && ref.port !== backend.port) {
    const problem = `Backend "${key}" has no port ${ref.port}`;
    const suggestion = String(backend.port);
    return { backend: undefined, field: "port", problem, suggestion };
  }
  return { backend };
}
