import { GATEWAY_API_GROUP } from "../api/resources/group.ts";
import type { Gateway, Listener } from "../api/resources/gateway_resource.ts";
import type { HttpRoute } from "../api/resources/http_route.ts";
import {
  resourceKey,
  type ResourceSet,
} from "../api/resources/resource_set.ts";
import type { ResourceDiagnostic } from "../base/diagnostic.ts";
import type { CompiledListener } from "./compiled_model.ts";
import { type Condition, conditionNo, conditionYes } from "./conditions.ts";
import {
  describePolicyOutcomes,
  type PolicyOutcome,
} from "./policy_outcomes.ts";
import { namespacedName } from "./precedence.ts";

/** State of a listener; Gateway API `ListenerStatus`. */
export interface ListenerOutcome {
  readonly name: string;
  readonly supportedKinds: readonly {
    readonly group: string;
    readonly kind: string;
  }[];
  /** Number of routes that are attached, whether their references resolve or not. */
  readonly attachedRoutes: number;
  readonly conditions: readonly Condition[];
}

/** State of a gateway. */
export interface GatewayOutcome {
  /** `namespace/name`. */
  readonly name: string;
  readonly conditions: readonly Condition[];
  readonly listeners: readonly ListenerOutcome[];
}

/** State of a route at each of its gateways; Gateway API `RouteParentStatus`. */
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
  const { gateways, httpRoutes } = resources;
  const reports = Map.groupBy(
    diagnostics.filter(({ reason, severity }) =>
      reason !== undefined || severity === "error"
    ),
    ({ resource: { kind, namespace, name } }) =>
      resourceKey({ kind, metadata: { namespace, name } }),
  );
  const reportsOf = (resource: Parameters<typeof resourceKey>[0]) =>
    reports.get(resourceKey(resource)) ?? [];
  const attached = countRoutes(listeners);
  yield;
  const known = new Set(gateways.map(namespacedName));
  const routes: RouteOutcome[] = [];
  for (const route of httpRoutes) {
    routes.push(describeRoute(route, known, reportsOf(route)));
    yield;
  }
  return {
    gateways: gateways.map((gateway) =>
      describeGateway(gateway, attached, reportsOf(gateway))
    ),
    routes,
    policies: yield* describePolicyOutcomes(resources, {
      listeners,
      reportsOf,
    }),
  };
}

/** Returns the number of routes by the key of the listener. */
function countRoutes(
  listeners: readonly CompiledListener[],
): ReadonlyMap<string, number> {
  return new Map(listeners.map(({ listener, rules }) => [
    listener.key,
    new Set(rules.map(({ rule }) => rule.route)).size,
  ]));
}

function describeGateway(
  gateway: Gateway,
  attached: ReadonlyMap<string, number>,
  reports: readonly ResourceDiagnostic[],
): GatewayOutcome {
  const name = namespacedName(gateway);
  const listeners = gateway.spec.listeners.map((listener, index) =>
    describeListener(listener, {
      attachedRoutes: attached.get(`${name}/${listener.name}`) ?? 0,
      reports: reports.filter(({ path }) =>
        path[1] === "listeners" && path[2] === index
      ),
    })
  );
  const [first] = reports.filter(({ path }) => path[1] !== "listeners");
  const unusable = reports.find(({ reason }) => reason === "AddressNotUsable");
  const invalid = listeners.filter(({ conditions }) =>
    conditions.some(({ type, status }) =>
      type === "Conflicted" ? status : !status
    )
  );
  const names = invalid.map(({ name }) => `"${name}"`).join(", ");
  return {
    name,
    listeners,
    conditions: first !== undefined
      ? [
        conditionNo("Accepted", first.reason ?? "Invalid", first.message),
        conditionNo("Programmed", "Invalid", first.message),
      ]
      : [
        invalid.length === 0 ? conditionYes("Accepted") : conditionYes(
          "Accepted",
          "ListenersNotValid",
          `Invalid listeners: ${names}`,
        ),
        unusable !== undefined
          ? failed("Programmed", unusable)
          : invalid.length < listeners.length
          ? conditionYes("Programmed")
          : conditionNo("Programmed", "Invalid", "No listener is valid"),
      ],
  };
}

const routeKinds = ["HTTPRoute", "GRPCRoute"];

function describeListener(
  { name, allowedRoutes }: Listener,
  { attachedRoutes, reports }: {
    readonly attachedRoutes: number;
    readonly reports: readonly ResourceDiagnostic[];
  },
): ListenerOutcome {
  const kinds = allowedRoutes?.kinds?.map((
    { group = GATEWAY_API_GROUP, kind },
  ) => ({ group, kind })) ??
    routeKinds.map((kind) => ({ group: GATEWAY_API_GROUP, kind }));
  const supportedKinds = kinds.filter(({ group, kind }) =>
    group === GATEWAY_API_GROUP && routeKinds.includes(kind)
  );
  const find = (reasons: readonly string[]) =>
    reports.find(({ reason = "" }) => reasons.includes(reason));
  const conflict = find(["HostnameConflict", "ProtocolConflict"]);
  const rejection = conflict ??
    find(["PortUnavailable", "UnsupportedProtocol", "UnsupportedValue"]);
  const reference = find(["InvalidCertificateRef", "RefNotPermitted"]);
  const unsupported = kinds.length > supportedKinds.length;
  const resolved = reference !== undefined
    ? failed("ResolvedRefs", reference)
    : unsupported
    ? conditionNo(
      "ResolvedRefs",
      "InvalidRouteKinds",
      `Routes can be ${routeKinds.join(" and ")}`,
    )
    : conditionYes("ResolvedRefs");
  const accepted = rejection === undefined
    ? conditionYes("Accepted")
    : failed("Accepted", rejection);
  return {
    name,
    supportedKinds,
    attachedRoutes,
    conditions: [
      accepted,
      conflict === undefined
        ? conditionNo("Conflicted", "NoConflicts", "")
        : conditionYes("Conflicted", conflict.reason, conflict.message),
      resolved,
      accepted.status && (reference === undefined) && supportedKinds.length > 0
        ? conditionYes("Programmed")
        : conditionNo(
          "Programmed",
          "Invalid",
          (rejection ?? reference)?.message ?? resolved.message,
        ),
    ],
  };
}

/** Describes a route at its parents; parents that are not in the configuration belong to other controllers. */
function describeRoute(
  route: HttpRoute,
  gateways: ReadonlySet<string>,
  reports: readonly ResourceDiagnostic[],
): RouteOutcome {
  const reference = reports.find(({ path }) => path[1] === "rules");
  const resolved = reference === undefined
    ? conditionYes("ResolvedRefs")
    : failed("ResolvedRefs", reference);
  const parents = route.spec.parentRefs.flatMap((parentRef, index) => {
    const { kind, name, namespace = route.metadata.namespace } = parentRef;
    if (kind !== "Gateway" || !gateways.has(`${namespace}/${name}`)) return [];
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

function failed(
  type: string,
  { reason = "Invalid", message }: ResourceDiagnostic,
): Condition {
  return conditionNo(type, reason, message);
}
