import { gatewayOfSet, namespacedName } from "../resolve/precedence.ts";
import { GATEWAY_API_GROUP } from "../../api/schema/group.ts";
import type {
  Gateway,
  Listener,
} from "../../api/resources/gateway_resource.ts";
import type { ListenerSet } from "../../api/resources/listener_set.ts";
import {
  resourceKey,
  type ResourceSet,
} from "../../api/resources/resource_set.ts";
import { canonicalAddress } from "../../base/wire/bind_address.ts";
import type { ResourceDiagnostic } from "../../base/diagnostic.ts";

/** A condition of a status, without times; Kubernetes `metav1.Condition`. */
export interface Condition {
  /** Such as `Accepted`. */
  readonly type: string;
  readonly status: boolean;
  /** Such as `NoMatchingParent`. */
  readonly reason: string;
  /** Empty when there is nothing to say. */
  readonly message: string;
}

/** Creates a condition that holds. */
export function conditionYes(
  type: string,
  reason = type,
  message = "",
): Condition {
  return { type, status: true, reason, message };
}

/** Creates a condition that does not hold. */
export function conditionNo(
  type: string,
  reason: string,
  message: string,
): Condition {
  return { type, status: false, reason, message };
}

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

/** State of a resource with listeners. */
export interface ListenersOutcome {
  /** `namespace/name`. */
  readonly name: string;
  readonly conditions: readonly Condition[];
  readonly listeners: readonly ListenerOutcome[];
}

/** State of a gateway. */
export interface GatewayOutcome extends ListenersOutcome {
  /** Addresses on which it listens; empty for all addresses. */
  readonly addresses: readonly string[];
}

/** State of a listener set. */
export interface ListenerSetOutcome extends ListenersOutcome {
  /** Gateway that it belongs to: `namespace/name`. */
  readonly gateway: string;
}

/** Returns the key of a listener: its resource and its name. */
export function listenerKey(
  owner: Gateway | ListenerSet,
  { name }: Pick<Listener, "name">,
): string {
  return `${resourceKey(owner)}/${name}`;
}

/** Derives the conditions of a gateway from what compilation reported; `attached` has the number of routes of each listener. */
export function describeGateway(
  gateway: Gateway,
  attached: ReadonlyMap<string, number>,
  { reports, unusablePorts = [] }: Pick<ResourceSet, "unusablePorts"> & {
    readonly reports: readonly ResourceDiagnostic[];
  },
): GatewayOutcome {
  const addresses = (gateway.spec.addresses ?? []).flatMap(({ value }) =>
    value === undefined ||
      unusablePorts.some(({ address }) => address === canonicalAddress(value))
      ? []
      : [value]
  );
  const name = namespacedName(gateway);
  const listeners = describeListeners(gateway, attached, reports);
  const [first] = reports.filter(({ path: [, field] }) =>
    field !== "listeners" && field !== "tls"
  );
  const tls = tlsConditions(gateway, reports);
  const unusable = reports.find(({ reason }) => reason === "AddressNotUsable");
  const invalid = listeners.filter(isInvalid);
  const own = first !== undefined
    ? [
      failed("Accepted", first),
      conditionNo("Programmed", "Invalid", first.message),
    ]
    : [
      acceptedWithout(invalid),
      unusable !== undefined
        ? failed("Programmed", unusable)
        : invalid.length < listeners.length
        ? conditionYes("Programmed")
        : conditionNo("Programmed", "Invalid", "No listener is valid"),
    ];
  return { name, addresses, listeners, conditions: [...own, ...tls] };
}

/** Returns the conditions of a gateway with `tls.backend` or insecure client certificates. */
function tlsConditions(
  { spec: { tls: { frontend, backend } = {} } }: Gateway,
  reports: readonly ResourceDiagnostic[],
): readonly Condition[] {
  const reference = reports.find(({ path: [, field] }) => field === "tls");
  const validations = [
    frontend?.default?.validation,
    ...(frontend?.perPort ?? []).map(({ tls }) => tls.validation),
  ];
  const isInsecure = validations.some((each) =>
    each?.mode === "AllowInsecureFallback"
  );
  return [
    ...(backend === undefined ? [] : [unless(reference, "ResolvedRefs")]),
    ...(isInsecure ? [insecureFrontend] : []),
  ];
}

const insecureFrontend = conditionYes(
  "InsecureFrontendValidationMode",
  "ConfigurationChanged",
  "Clients are accepted without a valid certificate",
);

/** Derives the conditions of a listener set, as `describeGateway` does. */
export function describeListenerSet(
  set: ListenerSet,
  attached: ReadonlyMap<string, number>,
  { gateway, reports }: {
    readonly gateway: GatewayOutcome;
    readonly reports: readonly ResourceDiagnostic[];
  },
): ListenerSetOutcome {
  const listeners = describeListeners(set, attached, reports);
  const invalid = listeners.filter(isInvalid);
  const parent = (type: string) =>
    gateway.conditions.find((each) => each.type === type);
  const [first] = reports.filter(({ path }) => path[1] !== "listeners");
  const fail = (reason: string, message: string) =>
    ["Accepted", "Programmed"].map((type) =>
      conditionNo(type, reason, message)
    );
  const conditions = () => {
    if (first !== undefined) {
      return fail(first.reason ?? "Invalid", first.message);
    }
    const accepted = parent("Accepted");
    if (accepted?.status !== true) {
      return fail("ParentNotAccepted", accepted?.message ?? "");
    }
    if (invalid.length === listeners.length) {
      return fail("ListenersNotValid", "No listener is valid");
    }
    const programmed = parent("Programmed");
    return [
      acceptedWithout(invalid),
      programmed?.reason === "AddressNotUsable"
        ? conditionNo("Programmed", "ParentNotProgrammed", programmed.message)
        : conditionYes("Programmed"),
    ];
  };
  return {
    name: namespacedName(set),
    gateway: gatewayOfSet(set),
    // Listeners of a set that its gateway does not accept have no state.
    listeners: first === undefined ? listeners : [],
    conditions: conditions(),
  };
}

/** Returns a condition that does not hold, as compilation reported it. */
function failed(
  type: string,
  { reason = "Invalid", message }: ResourceDiagnostic,
): Condition {
  return conditionNo(type, reason, message);
}

/** Returns a condition that holds unless compilation reported a problem. */
export function unless(
  problem: ResourceDiagnostic | undefined,
  type: string,
): Condition {
  return problem === undefined ? conditionYes(type) : failed(type, problem);
}

function acceptedWithout(invalid: readonly ListenerOutcome[]): Condition {
  const names = invalid.map(({ name }) => `"${name}"`).join(", ");
  return invalid.length === 0 ? conditionYes("Accepted") : conditionYes(
    "Accepted",
    "ListenersNotValid",
    `Invalid listeners: ${names}`,
  );
}

function isInvalid({ conditions }: ListenerOutcome): boolean {
  return conditions.some(({ type, status }) =>
    type === "Conflicted" ? status : !status
  );
}

function describeListeners(
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
