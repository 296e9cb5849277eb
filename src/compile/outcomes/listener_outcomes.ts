import { GATEWAY_API_GROUP } from "../../api/schema/group.ts";
import type {
  Gateway,
  Listener,
} from "../../api/resources/gateway_resource.ts";
import type { ListenerSet } from "../../api/resources/listener_set.ts";
import { resourceKey } from "../../api/resources/resource_set.ts";
import type { ResourceDiagnostic } from "../../base/diagnostic.ts";
import {
  type Condition,
  conditionNo,
  conditionYes,
  unless,
} from "./conditions.ts";

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

/** Returns the key of a listener: its resource and its name. */
export function listenerKey(
  owner: Gateway | ListenerSet,
  { name }: Pick<Listener, "name">,
): string {
  return `${resourceKey(owner)}/${name}`;
}

/** Reports whether a listener has a condition that keeps it from being served as it is written. */
export function isInvalid({ conditions }: ListenerOutcome): boolean {
  return conditions.some(({ type, status }) =>
    type === "Conflicted" ? status : !status
  );
}

/** Derives the conditions of the listeners of a gateway or listener set. */
export function describeListeners(
  owner: Gateway | ListenerSet,
  attached: ReadonlyMap<string, number>,
  reports: readonly ResourceDiagnostic[],
): readonly ListenerOutcome[] {
  return owner.spec.listeners.map((listener, index) =>
    describeListener(listener, {
      attachedRoutes: attached.get(listenerKey(owner, listener)) ?? 0,
      reports: reports.filter(({ path }) =>
        path[1] === "listeners" && path[2] === index
      ),
    })
  );
}

const routeKinds = ["HTTPRoute", "GRPCRoute"];

function describeListener(
  { name, allowedRoutes }: Listener,
  { attachedRoutes, reports }: {
    readonly attachedRoutes: number;
    readonly reports: readonly ResourceDiagnostic[];
  },
): ListenerOutcome {
  const { kinds, supportedKinds } = routeKindsOf(allowedRoutes?.kinds);
  const find = (reasons: readonly string[]) =>
    reports.find(({ reason = "" }) => reasons.includes(reason));
  const conflict = find(["HostnameConflict", "ProtocolConflict"]);
  const rejection = conflict ??
    find([
      "NoValidCACertificate",
      "PortUnavailable",
      "UnsupportedProtocol",
      "UnsupportedValue",
    ]);
  const reference = find([
    "InvalidCACertificateKind",
    "InvalidCACertificateRef",
    "InvalidCertificateRef",
    "RefNotPermitted",
  ]);
  const resolved = reference === undefined && kinds > supportedKinds.length
    ? invalidKinds
    : unless(reference, "ResolvedRefs");
  const accepted = unless(rejection, "Accepted");
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
          conflict?.reason ?? "Invalid",
          (rejection ?? reference)?.message ?? resolved.message,
        ),
    ],
  };
}

type RouteKinds = NonNullable<Listener["allowedRoutes"]>["kinds"];

/** Returns the number of kinds of routes that are allowed, and those of them that can be. */
function routeKindsOf(allowed: RouteKinds) {
  const kinds =
    (allowed ?? routeKinds.map((kind) => ({ kind, group: undefined })))
      .map(({ group = GATEWAY_API_GROUP, kind }) => ({ group, kind }));
  const supportedKinds = kinds.filter(({ group, kind }) =>
    group === GATEWAY_API_GROUP && routeKinds.includes(kind)
  );
  return { kinds: kinds.length, supportedKinds };
}

const invalidKinds = conditionNo(
  "ResolvedRefs",
  "InvalidRouteKinds",
  `Routes can be ${routeKinds.join(" and ")}`,
);
