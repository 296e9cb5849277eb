import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { Condition } from "../../compile/conditions.ts";
import type { GatewayOutcome } from "../../compile/outcomes.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";
import type { Rejection } from "../source/read_objects.ts";
import { policyStatuses, routeStatuses } from "./owned_statuses.ts";
import type { DesiredStatus, StatusSources } from "./status_sources.ts";
import {
  contextOf,
  isSameGeneration,
  storeConditions,
} from "./stored_conditions.ts";

/** Returns the status of every object of this controller. */
export function* desiredStatuses(
  sources: StatusSources,
): Generator<DesiredStatus> {
  const { state, outcomes, objects } = sources;
  const own = uidsOf(state.classes);
  for (const object of objects("GatewayClass")) {
    if (own.has(object.metadata.uid)) yield classStatus(object, sources);
  }
  const byName = new Map(
    outcomes.gateways.map((outcome) => [outcome.name, outcome]),
  );
  const gateways = new Map(
    state.gateways.map((object) => [object.metadata.uid, object]),
  );
  for (const object of objects("Gateway")) {
    const compiled = gateways.get(object.metadata.uid);
    // Another generation has not been compiled yet; its turn comes.
    if (!isSameGeneration(object, compiled)) continue;
    yield gatewayStatus(object, byName.get(objectKey(object)), {
      ...sources,
      rejections: state.rejections.filter((each) => each.object === compiled),
    });
  }
  yield* routeStatuses(sources);
  yield* policyStatuses(sources);
}

function uidsOf(
  objects: readonly KubernetesObject[],
): ReadonlySet<string | undefined> {
  return new Set(objects.map(({ metadata }) => metadata.uid));
}

function classStatus(
  object: KubernetesObject,
  { supportedFeatures, now }: StatusSources,
): DesiredStatus {
  const conditions: Condition[] = [
    { type: "Accepted", status: true, reason: "Accepted", message: "" },
    {
      type: "SupportedVersion",
      status: true,
      reason: "SupportedVersion",
      message: "",
    },
  ];
  return {
    object,
    status: {
      conditions: storeConditions(conditions, contextOf(object, object, now)),
      supportedFeatures: supportedFeatures.map((name) => ({ name })),
    },
  };
}

function gatewayStatus(
  object: KubernetesObject,
  outcome: GatewayOutcome | undefined,
  { rejections, addressesOf, now }: StatusSources & {
    readonly rejections: readonly Rejection[];
  },
): DesiredStatus {
  const conditions = gatewayConditions(outcome, rejections);
  const addresses = outcome === undefined
    ? []
    : addressesOf(outcome.name).map((value) => ({ type: "IPAddress", value }));
  const before = isJsonObject(object["status"])
    ? object["status"]["listeners"]
    : undefined;
  return {
    object,
    status: {
      addresses,
      conditions: storeConditions(conditions, contextOf(object, object, now)),
      listeners: listenersOf(object, outcome, rejections).map((listener) => ({
        ...listener,
        conditions: storeConditions(
          listener.conditions,
          contextOf(object, findNamed(before, listener.name), now),
        ),
      })),
    },
  };
}

/** Returns the conditions of a gateway of which some listeners, or all of it, could not be read. */
function gatewayConditions(
  outcome: GatewayOutcome | undefined,
  rejections: readonly Rejection[],
): readonly Condition[] {
  const [first] = rejections;
  if (outcome !== undefined && first === undefined) return outcome.conditions;
  const isWhole = first?.listener === undefined;
  const reason = isWhole ? first?.reason ?? "Invalid" : "ListenersNotValid";
  const message = first?.message ?? "The gateway is not valid";
  const accepted = {
    type: "Accepted",
    status: outcome !== undefined,
    reason,
    message,
  };
  const programmed = outcome?.conditions.find(({ type }) =>
    type === "Programmed"
  );
  return [
    accepted,
    programmed ??
      { type: "Programmed", status: false, reason: "Invalid", message },
  ];
}

/** Returns the listeners in the order of the object: those that were compiled, and those that are invalid. */
function listenersOf(
  { spec }: KubernetesObject,
  outcome: GatewayOutcome | undefined,
  rejections: readonly Rejection[],
): GatewayOutcome["listeners"] {
  const written = isJsonObject(spec) && Array.isArray(spec["listeners"])
    ? spec["listeners"].filter(isJsonObject)
    : [];
  return written.map((listener) => {
    const name = String(listener["name"]);
    const compiled = outcome?.listeners.find((each) => each.name === name);
    if (compiled !== undefined) return compiled;
    const message = rejections.find((each) => each.listener === name)
      ?.message ?? "The gateway is not valid";
    const protocol = String(listener["protocol"]);
    const reason = protocol === "HTTP" || protocol === "HTTPS"
      ? "Invalid"
      : "UnsupportedProtocol";
    return {
      name,
      supportedKinds: [],
      attachedRoutes: 0,
      conditions: [
        { type: "Accepted", status: false, reason, message },
        { type: "Programmed", status: false, reason: "Invalid", message },
        {
          type: "ResolvedRefs",
          status: true,
          reason: "ResolvedRefs",
          message: "",
        },
      ],
    };
  });
}

function findNamed(list: unknown, name: string): JsonObject | undefined {
  return Array.isArray(list)
    ? list.filter(isJsonObject).find((each) => each["name"] === name)
    : undefined;
}
