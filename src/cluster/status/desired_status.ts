import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type {
  Condition,
  GatewayOutcome,
  Outcomes,
  RouteOutcome,
} from "../../compile/outcomes.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";
import type { ClusterState } from "../source/cluster_source.ts";
import type { Rejection } from "../source/read_objects.ts";
import { storeConditions } from "./conditions.ts";

/** Sources of statuses. */
export interface StatusSources {
  readonly state: ClusterState;
  readonly outcomes: Outcomes;
  readonly controllerName: string;
  /** Features of the Gateway API that are supported, sorted. */
  readonly supportedFeatures: readonly string[];
  /** Returns the addresses of a gateway, by `namespace/name`. */
  readonly addressesOf: (gateway: string) => readonly string[];
  /** Returns the newest objects of a kind: their statuses can be newer than those in `state`. */
  readonly objects: (
    kind: "GatewayClass" | "Gateway" | "HTTPRoute",
  ) => Iterable<KubernetesObject>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A status that an object should have. */
export interface DesiredStatus {
  readonly object: KubernetesObject;
  readonly status: JsonObject;
}

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
}

function uidsOf(
  objects: readonly KubernetesObject[],
): ReadonlySet<string | undefined> {
  return new Set(objects.map(({ metadata }) => metadata.uid));
}

function isSameGeneration(
  { metadata }: KubernetesObject,
  compiled: KubernetesObject | undefined,
): boolean {
  return compiled !== undefined &&
    metadata.generation === compiled.metadata.generation;
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

/** Context of the conditions in `holder`, which belongs to `object`. */
function contextOf(
  object: KubernetesObject,
  holder: unknown,
  now: number,
) {
  const status = isJsonObject(holder) && isJsonObject(holder["status"])
    ? holder["status"]
    : holder;
  return {
    before: isJsonObject(status) ? status["conditions"] : undefined,
    generation: object.metadata.generation ?? 0,
    now,
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

function* routeStatuses(
  { state, outcomes, controllerName, objects, now }: StatusSources,
): Generator<DesiredStatus> {
  const byKey = new Map(
    outcomes.routes.map((
      outcome,
    ) => [`${outcome.kind}/${outcome.name}`, outcome]),
  );
  const gateways = new Set(state.gateways.map(objectKey));
  for (const object of objects("HTTPRoute")) {
    const compiled = state.routes.get(object.metadata.uid ?? "");
    if (!isSameGeneration(object, compiled)) continue;
    const outcome = byKey.get(`${object.kind}/${objectKey(object)}`) ??
      rejectedRoute(
        object,
        state.rejections.find((each) => each.object === compiled),
        gateways,
      );
    const stored = isJsonObject(object["status"])
      ? object["status"]["parents"]
      : undefined;
    const others = (Array.isArray(stored) ? stored : []).filter((
      entry: unknown,
    ) => !isJsonObject(entry) || entry["controllerName"] !== controllerName);
    const own = Array.isArray(stored)
      ? stored.filter(isJsonObject).filter((entry) =>
        entry["controllerName"] === controllerName
      )
      : [];
    if ((outcome?.parents.length ?? 0) + own.length === 0) continue;
    const refs = parentRefsOf(object);
    const parents = (outcome?.parents ?? []).map(({ index, conditions }) => {
      const parentRef = refs[index];
      const before = own.find((entry) =>
        JSON.stringify(entry["parentRef"]) === JSON.stringify(parentRef)
      );
      return {
        parentRef,
        controllerName,
        conditions: storeConditions(
          conditions,
          contextOf(object, before, now),
        ),
      };
    });
    yield { object, status: { parents: [...others, ...parents] } };
  }
}

function parentRefsOf({ spec }: KubernetesObject): readonly unknown[] {
  const refs = isJsonObject(spec) ? spec["parentRefs"] : undefined;
  return Array.isArray(refs) ? refs : [];
}

/** Describes a route that is invalid at each gateway of this controller. */
function rejectedRoute(
  object: KubernetesObject,
  rejection: Rejection | undefined,
  gateways: ReadonlySet<string>,
): RouteOutcome | undefined {
  if (rejection === undefined) return undefined;
  const parents = parentRefsOf(object).flatMap((ref, index) => {
    if (!isJsonObject(ref)) return [];
    const namespace = ref["namespace"] ?? object.metadata.namespace;
    if (!gateways.has(`${namespace}/${ref["name"]}`)) return [];
    return [{
      index,
      conditions: [
        {
          type: "Accepted",
          status: false,
          reason: "UnsupportedValue",
          message: rejection.message,
        },
        {
          type: "ResolvedRefs",
          status: true,
          reason: "ResolvedRefs",
          message: "",
        },
      ],
    }];
  });
  return {
    kind: String(object.kind),
    name: objectKey(object),
    parents,
  };
}
