import type { Gateway } from "../../api/resources/gateway_resource.ts";
import type { ListenerSet } from "../../api/resources/listener_set.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { ResourceDiagnostic } from "../../base/diagnostic.ts";
import { canonicalAddress } from "../../base/wire/bind_address.ts";
import { gatewayOfSet, namespacedName } from "../resolve/precedence.ts";
import {
  type Condition,
  conditionNo,
  conditionYes,
  failed,
  unless,
} from "./conditions.ts";
import {
  describeListeners,
  isInvalid,
  type ListenerOutcome,
} from "./listener_outcomes.ts";

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

function acceptedWithout(invalid: readonly ListenerOutcome[]): Condition {
  const names = invalid.map(({ name }) => `"${name}"`).join(", ");
  return invalid.length === 0 ? conditionYes("Accepted") : conditionYes(
    "Accepted",
    "ListenersNotValid",
    `Invalid listeners: ${names}`,
  );
}
