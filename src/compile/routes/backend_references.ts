import type { RequestMirror } from "../../api/rules/http_filter.ts";
import type { Hide } from "../../base/redaction.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { trafficOfFilter } from "../policies/check_policies.ts";
import type { DescribeLater } from "../describe/describe_effective.ts";
import type { PolicyFactory } from "../policies/policy_factory.ts";
import type { BackendRef, HttpRoute } from "../../api/resources/http_route.ts";
import {
  GATEWAY_API_GROUP,
  POLICY_API_GROUP,
  WEB_UI_KIND,
} from "../../api/schema/group.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type { Mirror, WeightedBackend } from "../../snapshot/snapshot.ts";
import type { Attached } from "../attach/attach_policies.ts";
import { serviceBackendKey } from "../backends/compile_backends.ts";
import type { MergeContext } from "../policies/effective_policy.ts";
import type { ConditionReason } from "../memory/report.ts";
import { type Inputs, mayRefer } from "../resolve/references.ts";

/** Dependencies of compiling the backends of rules. */
export interface ForwardingContext extends MergeContext {
  readonly inputs: Inputs;
  readonly factory: PolicyFactory;
  readonly describeLater: DescribeLater;
  readonly hide: Hide;
  /** As `CompileOptions.sessionSecret`. */
  readonly sessionSecret?: string | undefined;
  /** See `ResourceSet`. */
  readonly isolatesErrors?: boolean;
}

/** The backend of a reference, or why it has none. */
type Resolved = { readonly backend: Backend } | Unresolved;

/** A reference that does not resolve, and why. */
interface Unresolved {
  readonly backend: undefined;
  readonly problem: string;
  readonly reason: ConditionReason;
  /** The invalid field of the reference. */
  readonly field: keyof BackendRef;
  readonly suggestion?: string | undefined;
  /** True if the backend exists and has an error of its own. */
  readonly isRejected?: boolean;
}

function unresolved(
  reason: ConditionReason,
  field: keyof BackendRef,
  problem: string,
  suggestion?: string,
): Unresolved {
  return { backend: undefined, reason, field, problem, suggestion };
}

function backendOf(key: string, attached: Attached): Backend | undefined {
  return attached.read(({ backends }) => backends.get(key));
}

/** Compiles a reference to a backend. An unresolved one keeps its weight, and gets 500. */
export function compileBackendRef(
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
  reportUnresolved(route, path, { ...resolved, effect }, context);
  const { problem } = resolved;
  const kinds = context.policies.running("backend");
  const describePolicies = context.describeLater([], kinds);
  return { weight, priority, backend, problem, policies: [], describePolicies };
}

function reportUnresolved(
  route: HttpRoute,
  path: DiagnosticPath,
  { problem, effect, field, suggestion, reason, isRejected }:
    & Unresolved
    & { readonly effect: string },
  { report, isolatesErrors = false }: ForwardingContext,
): void {
  // The error of the backend keeps the configuration from serving anything.
  if (isRejected === true && !isolatesErrors) return;
  const message = `${problem}; ${effect}`;
  const place = [...path, field];
  report.warning(route, { path: place, message, suggestion, reason });
}

function backendPolicies(
  route: HttpRoute,
  ref: BackendRef,
  { policies: registry, attached, factory, describeLater }: ForwardingContext,
): Pick<WeightedBackend, "policies" | "describePolicies"> {
  const { namespace = route.metadata.namespace, name } = ref;
  const resource = { metadata: { namespace, name } };
  const own = ref.kind === "GatewayBackend"
    ? attached.read(({ policies }) =>
      policies.at({ kind: "GatewayBackend", resource })
    )
    : [];
  const layers = [
    ...(ref.filters ?? []).map(trafficOfFilter),
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
  return { policies, describePolicies: describeLater(configured, kinds) };
}

/** Compiles a mirror; returns nothing when its backend cannot be resolved. */
export function compileMirror(
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
  reportUnresolved(route, path, { ...resolved, effect }, context);
  return [];
}

function fractionOf({ percent, fraction }: RequestMirror): number {
  if (percent !== undefined) return percent / 100;
  return fraction === undefined ? 1 : fraction.numerator / fraction.denominator;
}

/** Finds the backend of a reference. Another namespace has to allow it with a `ReferenceGrant` (Gateway API, `HTTPBackendRef`). */
function resolveBackend(
  route: HttpRoute,
  ref: RequestMirror["backendRef"],
  context: ForwardingContext,
): Resolved {
  const { group, kind, name } = ref;
  const isService = kind === "Service" && group === "";
  if (!isService && (kind !== "GatewayBackend" || group !== POLICY_API_GROUP)) {
    const problem =
      `Cannot send requests to kind "${kind}" of group "${group}": expected "GatewayBackend" of group "${POLICY_API_GROUP}", or "Service"`;
    return unresolved("InvalidKind", "kind", problem);
  }
  const own = route.metadata.namespace;
  const namespace = ref.namespace ?? own;
  const from = { group: GATEWAY_API_GROUP, kind: route.kind, namespace: own };
  if (!mayRefer(from, { group, kind, namespace, name }, context.inputs)) {
    const problem =
      `Cannot refer to ${kind} "${namespace}/${name}" from "${own}": no ReferenceGrant of "${namespace}" allows it`;
    return unresolved("RefNotPermitted", "namespace", problem);
  }
  return isService
    ? resolveService(`${namespace}/${name}`, ref.port, context)
    : resolveGatewayBackend(`${namespace}/${name}`, ref, context);
}

function resolveGatewayBackend(
  key: string,
  { name, port }: RequestMirror["backendRef"],
  { attached, report }: ForwardingContext,
): Resolved {
  const backend = backendOf(key, attached);
  if (backend !== undefined) {
    if (port === undefined || port === backend.port) return { backend };
    const problem = `Backend "${key}" has no port ${port}`;
    return unresolved(NOT_FOUND, "port", problem, String(backend.port));
  }
  const denial = attached.read(({ invalidBackends }) =>
    invalidBackends.has(key) ? invalidBackends.get(key) ?? "" : undefined
  );
  if (denial === undefined) {
    const suggestion = report.suggest(
      name,
      () => [...attached.all.backends.values()].map(({ name }) => name),
    );
    const problem = `Backend "${key}" not found`;
    return unresolved(NOT_FOUND, "name", problem, suggestion);
  }
  const rejected = denial === ""
    ? unresolved(NOT_FOUND, "name", `Backend "${key}" is invalid`)
    : unresolved("AddressDenied", "name", `Backend "${key}": ${denial}`);
  return { ...rejected, isRejected: true };
}

const NOT_FOUND = "BackendNotFound";

function resolveService(
  key: string,
  port: number | undefined,
  { inputs, attached }: ForwardingContext,
): Resolved {
  const service = inputs.read(({ references }) => references.services.get(key));
  if (service === undefined) {
    const problem = backendOf(key, attached) !== undefined
      ? `Service "${key}" not found; for the GatewayBackend of that name, set kind: GatewayBackend and group: ${POLICY_API_GROUP}`
      : `Service "${key}" not found`;
    return unresolved(NOT_FOUND, "name", problem);
  }
  const backend = backendOf(serviceBackendKey(key, port ?? 0), attached);
  if (backend !== undefined) return { backend };
  const problem = port === undefined
    ? `The reference to Service "${key}" has no port`
    : `Service "${key}" has no TCP port ${port}`;
  return unresolved(NOT_FOUND, "port", problem);
}

/** Returns the web UI when a reference of kind `WebUI` names it by its access, `read-only` or `read-write`; `undefined` for other references. */
function findWebUi(
  { metadata }: HttpRoute,
  { group, kind, name }: BackendRef,
): Resolved | undefined {
  if (kind !== WEB_UI_KIND || group !== POLICY_API_GROUP) return undefined;
  const backend = webUis.find(({ webUi }) => webUi === name);
  if (backend === undefined) return undefined;
  return metadata.uid === undefined ? { backend } : clusterWebUi;
}

/** Authors of routes in a cluster must not see the requests and policies of others. */
const clusterWebUi = unresolved(
  "InvalidKind",
  "kind",
  "Cannot serve the web UI, which shows everything of the gateway, on a route of a cluster; use the admin interface",
);

const webUis = (["read-only", "read-write"] as const).map((webUi): Backend => ({
  key: `web-ui/${webUi}`,
  name: "web-ui",
  webUi,
  host: "web-ui",
  port: 0,
  protocol: "auto",
  tls: undefined,
}));
