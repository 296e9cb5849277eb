import type { Condition } from "../../compile/outcomes/conditions.ts";
import type { KubernetesObject } from "../client/kubernetes_object.ts";
import { gatewayStatuses, listenerSetStatuses } from "./listener_statuses.ts";
import { policyStatuses, routeStatuses } from "./owned_statuses.ts";
import type { DesiredStatus, StatusSources } from "./status_sources.ts";
import { contextOf, storeConditions } from "./stored_conditions.ts";

/** Returns the status of every object of this controller. */
export function* desiredStatuses(
  sources: StatusSources,
): Generator<DesiredStatus> {
  const { state, objects } = sources;
  const own = uidsOf(state.classes);
  for (const object of objects("GatewayClass")) {
    if (own.has(object.metadata.uid)) yield classStatus(object, sources);
  }
  yield* gatewayStatuses(sources);
  yield* listenerSetStatuses(sources);
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
