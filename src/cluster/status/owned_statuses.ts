import { withKeyProblems } from "./key_problems.ts";
import {
  isJsonObject,
  type JsonObject,
  listAt,
  objectsAt,
} from "../../base/json.ts";
import type { Condition } from "../../compile/outcomes/conditions.ts";
import { GATEWAY_API_GROUP } from "../../api/schema/group.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";
import type { Rejection } from "../source/read_objects.ts";
import type { DesiredStatus, StatusSources } from "./status_sources.ts";
import {
  contextOf,
  isSameGeneration,
  isStored,
  storeConditions,
} from "./stored_conditions.ts";

/** An entry of a list in a status that several controllers share. */
interface OwnEntry {
  /** A reference, such as `{ "name": "gw" }`. */
  readonly ref: unknown;
  readonly conditions: readonly Condition[];
}

/** Longest lists that the API server accepts. */
const maxEntries = { parents: 32, ancestors: 16 };

/** Returns the statuses of routes: an entry for each parent that this controller serves. */
export function* routeStatuses(
  sources: StatusSources,
): Generator<DesiredStatus> {
  const { state, outcomes } = sources;
  const byName = new Map(
    outcomes.routes.map((outcome) => [
      `${outcome.kind}/${outcome.name}`,
      outcome,
    ]),
  );
  const known = new Set(
    [...state.gateways, ...state.listenerSets].map((object) =>
      `${object.kind}/${objectKey(object)}`
    ),
  );
  const routes = [
    ...compiledObjects("HTTPRoute", sources),
    ...compiledObjects("GRPCRoute", sources),
  ];
  for (const { object, rejection } of routes) {
    const outcome = byName.get(`${object.kind}/${objectKey(object)}`);
    // The entries of a rejected route depend on all gateways.
    const cause = rejection === undefined ? outcome : undefined;
    if (cause !== undefined && sources.stored.get(object) === cause) continue;
    const refs = listAt(object, "spec", "parentRefs");
    const own = rejection === undefined
      ? (outcome?.parents ?? []).map(({ index, conditions }) => ({
        ref: refs[index],
        conditions,
      }))
      : refs.filter((ref) => isParent(ref, object, known)).map((ref) => ({
        ref,
        conditions: rejectedRoute(rejection),
      }));
    yield* withEntries(object, own, {
      ...sources,
      list: "parents",
      reference: "parentRef",
      outcome: cause,
    });
  }
}

/** Returns the statuses of policies: an entry for each gateway that they affect. */
export function* policyStatuses(
  sources: StatusSources,
): Generator<DesiredStatus> {
  const byName = new Map(
    sources.outcomes.policies.map(({ kind, name, ancestors }) => [
      `${kind}/${name}`,
      ancestors,
    ]),
  );
  for (const kind of ["GatewayPolicy", "BackendTLSPolicy"] as const) {
    for (const { object, rejection } of compiledObjects(kind, sources)) {
      const ancestors = byName.get(`${kind}/${objectKey(object)}`) ?? [];
      const own = ancestors.map(({ ancestorRef, conditions }) => ({
        ref: ancestorRef,
        conditions: rejection === undefined
          ? withKeyProblems(conditions, object, sources.keyProblems)
          : rejectedPolicy(rejection),
      }));
      yield* withEntries(object, own, {
        ...sources,
        list: "ancestors",
        reference: "ancestorRef",
      });
    }
  }
}

/** Returns the objects of a kind whose generation was compiled, with what is wrong with them. */
function* compiledObjects(
  kind: "HTTPRoute" | "GRPCRoute" | "GatewayPolicy" | "BackendTLSPolicy",
  { state, objects }: StatusSources,
): Generator<{
  readonly object: KubernetesObject;
  readonly rejection: Rejection | undefined;
}> {
  const rejections = new Map(
    state.rejections.toReversed().map((each) => [each.object, each]),
  );
  for (const object of objects(kind)) {
    const compiled = state.objects.get(object.metadata.uid ?? "");
    if (compiled === undefined || !isSameGeneration(object, compiled)) continue;
    const rejection = rejections.get(compiled);
    yield { object, rejection };
  }
}

/** Returns the status with the entries of this controller replaced, those of others as they are. */
function* withEntries(
  object: KubernetesObject,
  own: readonly OwnEntry[],
  { list, reference, controllerName, now, outcome }: StatusSources & {
    readonly list: "parents" | "ancestors";
    readonly reference: "parentRef" | "ancestorRef";
    readonly outcome?: object | undefined;
  },
): Generator<DesiredStatus> {
  const stored = objectsAt(object, "status", list);
  const isOwn = (entry: JsonObject) =>
    entry["controllerName"] === controllerName;
  const before = stored.filter(isOwn);
  if (own.length + before.length === 0) return;
  const entries = own.map(({ ref, conditions }) => ({
    [reference]: ref,
    controllerName,
    conditions: storeConditions(
      conditions,
      contextOf(
        object,
        // The API server returns members in an order of its own.
        before.find((entry) =>
          isStored(entry[reference], ref) && isStored(ref, entry[reference])
        ),
        now,
      ),
    ),
  }));
  const others = stored.filter((entry) => !isOwn(entry));
  const all = [...others, ...entries].slice(0, maxEntries[list]);
  yield { object, status: { [list]: all }, outcome };
}

function isParent(
  ref: unknown,
  { metadata }: KubernetesObject,
  known: ReadonlySet<string>,
): boolean {
  if (!isJsonObject(ref)) return false;
  const { group = GATEWAY_API_GROUP, kind = "Gateway", name } = ref;
  const namespace = ref["namespace"] ?? metadata.namespace;
  return group === GATEWAY_API_GROUP &&
    known.has(`${kind}/${namespace}/${name}`);
}

function rejectedRoute({ message }: Rejection): readonly Condition[] {
  return [
    { type: "Accepted", status: false, reason: "UnsupportedValue", message },
    { type: "ResolvedRefs", status: true, reason: "ResolvedRefs", message: "" },
  ];
}

function rejectedPolicy({ message }: Rejection): readonly Condition[] {
  return ["Accepted", "Attached"].map((type) => ({
    type,
    status: false,
    reason: "Invalid",
    message,
  }));
}
