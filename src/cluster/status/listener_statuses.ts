import { gatewayOfSet } from "../../compile/resolve/precedence.ts";
import { isIpAddress } from "../../api/schema/scalars.ts";
import { type JsonObject, objectsAt, valueAt } from "../../base/json.ts";
import {
  type Condition,
  conditionNo,
  conditionYes,
} from "../../compile/outcomes/conditions.ts";
import type { ListenersOutcome } from "../../compile/outcomes/gateway_outcomes.ts";
import type { ListenerOutcome } from "../../compile/outcomes/listener_outcomes.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";
import { type ClusterState, parentGatewayOf } from "../source/cluster_state.ts";
import type { StatusAddress } from "./service_addresses.ts";
import type { Rejection } from "../source/read_objects.ts";
import type { DesiredStatus, StatusSources } from "./status_sources.ts";
import {
  contextOf,
  isSameGeneration,
  storeConditions,
} from "./stored_conditions.ts";

/** Returns the statuses of the gateways of this controller. */
export function* gatewayStatuses(
  sources: StatusSources,
): Generator<DesiredStatus> {
  const { outcomes, addressesOf } = sources;
  const byName = new Map(
    outcomes.gateways.map((outcome) => [outcome.name, outcome]),
  );
  const attached = Map.groupBy(
    outcomes.listenerSets.filter(isAccepted),
    ({ gateway }) => gateway,
  );
  for (const { object, rejections } of compiled("Gateway", sources)) {
    const name = objectKey(object);
    const outcome = byName.get(name);
    const own = outcome?.addresses.map(addressOf) ?? [];
    const replacements = sources.conditionsOf(object);
    yield {
      object,
      status: {
        addresses: outcome === undefined || own.length > 0
          ? own
          : addressesOf(object),
        attachedListenerSets: attached.get(name)?.length ?? 0,
        ...statusOf(
          object,
          { outcome, rejections, gateway: name, replacements },
          sources,
        ),
      },
    };
  }
}

/** Returns the statuses of the listener sets of these gateways. */
export function* listenerSetStatuses(
  sources: StatusSources,
): Generator<DesiredStatus> {
  const byName = new Map(
    sources.outcomes.listenerSets.map((outcome) => [outcome.name, outcome]),
  );
  for (const { object, rejections } of compiled("ListenerSet", sources)) {
    const outcome = byName.get(objectKey(object));
    const gateway = parentGatewayOf(object);
    yield {
      object,
      status: statusOf(object, { outcome, rejections, gateway }, sources),
    };
  }
}

/** Objects with listeners whose generation was compiled, with what is wrong with them. */
function* compiled(
  kind: "Gateway" | "ListenerSet",
  { state, objects }: StatusSources,
): Generator<{
  readonly object: KubernetesObject;
  readonly rejections: readonly Rejection[];
}> {
  const own = kind === "Gateway" ? state.gateways : state.listenerSets;
  const byUid = new Map(own.map((object) => [object.metadata.uid, object]));
  for (const object of objects(kind)) {
    const compiled = byUid.get(object.metadata.uid);
    // Another generation has not been compiled yet; its turn comes.
    if (!isSameGeneration(object, compiled)) continue;
    const rejections = state.rejections.filter((each) =>
      each.object === compiled
    );
    yield { object, rejections };
  }
}

interface Compiled {
  readonly outcome: ListenersOutcome | undefined;
  readonly rejections: readonly Rejection[];
  /** `namespace/name`. */
  readonly gateway: string;
  /** Conditions in place of those of compilation. */
  readonly replacements?: readonly Condition[];
}

function statusOf(
  object: KubernetesObject,
  compiled: Compiled,
  { state, now }: StatusSources,
) {
  const before = objectsAt(object, "status", "listeners");
  const listeners = listenersOf(object, compiled, state);
  const conditions = conditionsOf(object, compiled).map((condition) =>
    compiled.replacements?.find(({ type }) => type === condition.type) ??
      condition
  );
  return {
    conditions: storeConditions(conditions, contextOf(object, object, now)),
    listeners: listeners.map((listener) => ({
      ...listener,
      conditions: storeConditions(
        listener.conditions,
        contextOf(
          object,
          before.find(({ name }) => name === listener.name),
          now,
        ),
      ),
    })),
  };
}

/** Returns the conditions of a resource of which some listeners, or all of it, could not be read. */
function conditionsOf(
  { kind }: KubernetesObject,
  { outcome, rejections }: Compiled,
): readonly Condition[] {
  const [first] = rejections;
  if (outcome !== undefined && first === undefined) return outcome.conditions;
  const isWhole = first?.listener === undefined;
  const message = first?.message ?? "The gateway is not valid";
  const reason = first === undefined
    ? "ParentNotAccepted"
    : isWhole
    ? first.reason ?? "Invalid"
    : "ListenersNotValid";
  const find = (wanted: string) =>
    outcome?.conditions.find(({ type }) => type === wanted);
  const accepted = find("Accepted");
  return [
    accepted?.status === false
      ? accepted
      : { type: "Accepted", status: outcome !== undefined, reason, message },
    find("Programmed") ?? conditionNo(
      "Programmed",
      kind === "ListenerSet" ? reason : "Invalid",
      message,
    ),
  ];
}

/** Returns the listeners in the order of the object: those that were compiled, and those that are invalid. */
function listenersOf(
  { spec }: KubernetesObject,
  { outcome, rejections, gateway }: Compiled,
  state: ClusterState,
): readonly ListenerOutcome[] {
  // A set that its gateway does not allow.
  if (outcome?.listeners.length === 0) return [];
  return objectsAt(spec, "listeners").map((listener) => {
    const name = String(listener["name"]);
    const found = outcome?.listeners.find((each) => each.name === name);
    if (found !== undefined) return found;
    const message = rejections.find((each) => each.listener === name)
      ?.message ?? "The gateway is not valid";
    const conflict = isPortTaken(listener, gateway, state);
    return rejectedListener(listener, message, conflict);
  });
}

/** Reports whether another protocol is served on the port of a listener. */
function isPortTaken(
  { port, protocol }: JsonObject,
  gateway: string,
  { resources: { gateways, listenerSets } }: ClusterState,
): boolean {
  const own = [
    ...gateways.filter(({ metadata: { namespace, name } }) =>
      `${namespace}/${name}` === gateway
    ),
    ...listenerSets.filter((set) => gatewayOfSet(set) === gateway),
  ];
  return own.some(({ spec: { listeners } }) =>
    listeners.some((each) => each.port === port && each.protocol !== protocol)
  );
}

function rejectedListener(
  { name, protocol, allowedRoutes }: JsonObject,
  message: string,
  isPortTaken: boolean,
): ListenerOutcome {
  const isSupported = protocol === "HTTP" || protocol === "HTTPS";
  const reason = isPortTaken
    ? "ProtocolConflict"
    : isSupported
    ? "Invalid"
    : "UnsupportedProtocol";
  const hasKinds = Array.isArray(valueAt(allowedRoutes, "kinds"));
  return {
    name: String(name),
    supportedKinds: [],
    attachedRoutes: 0,
    conditions: [
      conditionNo("Accepted", reason, message),
      isPortTaken
        ? conditionYes("Conflicted", reason, message)
        : conditionNo("Conflicted", "NoConflicts", ""),
      conditionNo("Programmed", isPortTaken ? reason : "Invalid", message),
      hasKinds && !isSupported
        ? conditionNo(
          "ResolvedRefs",
          "InvalidRouteKinds",
          `Protocol "${String(protocol)}" has no routes`,
        )
        : conditionYes("ResolvedRefs"),
    ],
  };
}

function addressOf(value: string): StatusAddress {
  return { type: isIpAddress(value) ? "IPAddress" : "Hostname", value };
}

function isAccepted({ conditions }: ListenersOutcome): boolean {
  return conditions.some(({ type, status }) => type === "Accepted" && status);
}
