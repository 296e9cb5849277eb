import { isJsonObject, type JsonObject, objectAt } from "../../base/json.ts";

/** Part of the name of the annotation with priorities, after the group. */
const PRIORITIES = "priorities";

/** Annotations whose values are fields of each rule with several backends. */
const groupAnnotations: readonly (readonly [
  name: string,
  fieldsOf: (value: string) => JsonObject,
])[] = [
  ["load-balancing", (policy) => ({ loadBalancing: { policy } })],
  [
    "failover-on",
    (reasons) => ({
      failover: { on: reasons.split(",").map((reason) => reason.trim()) },
    }),
  ],
  ["hedging-delay", (delay) => ({ hedging: { delay } })],
];

/** An annotation is invalid; the message says how. */
export class RouteAnnotationError extends Error {
  override readonly name = "RouteAnnotationError";
}

/**
 * Returns a route with the fields that its annotations have, such as `<group>/priorities: primary=0, fallback=1` and
 * `<group>/load-balancing: LeastLatency`: the API server drops fields that the Gateway API does not have.
 * @throws {RouteAnnotationError}
 */
export function withAnnotations(route: JsonObject, group: string): JsonObject {
  const { spec } = route;
  const annotations = objectAt(route, "metadata", "annotations");
  if (!isJsonObject(spec)) return route;
  const own: JsonObject = Object.assign(
    {},
    ...groupAnnotations.map(([name, fieldsOf]) => {
      const value = annotations[`${group}/${name}`];
      return typeof value === "string" ? fieldsOf(value) : {};
    }),
  );
  const grouped = mapObjects(
    spec,
    "rules",
    (rule) => hasSeveral(rule) ? { ...rule, ...own } : rule,
  );
  const priorities = annotations[`${group}/${PRIORITIES}`];
  return {
    ...route,
    spec: typeof priorities === "string"
      ? withPriorities(grouped, priorities, `${group}/${PRIORITIES}`)
      : grouped,
  };
}

function hasSeveral({ backendRefs }: JsonObject): boolean {
  return Array.isArray(backendRefs) && backendRefs.length > 1;
}

function withPriorities(
  spec: JsonObject,
  text: string,
  annotation: string,
): JsonObject {
  const priorities = parse(text, annotation);
  const used = new Set<string>();
  const prioritize = (ref: JsonObject) => {
    const name = String(ref["name"]);
    const priority = priorities.get(name);
    if (priority === undefined) return ref;
    used.add(name);
    return { ...ref, priority };
  };
  const mapped = mapObjects(
    spec,
    "rules",
    (rule) => mapObjects(rule, "backendRefs", prioritize),
  );
  const unknown = priorities.keys().find((name) => !used.has(name));
  if (unknown !== undefined) {
    throw new RouteAnnotationError(
      `Annotation "${annotation}": no backendRef has the name "${unknown}"`,
    );
  }
  return mapped;
}

function parse(text: string, annotation: string): ReadonlyMap<string, number> {
  return new Map(
    text.split(",").map((part) => {
      const [, name = "", priority] =
        /^\s*([a-z0-9.-]+)\s*=\s*(\d{1,2})\s*$/.exec(part) ?? [];
      if (priority !== undefined) return [name, Number(priority)];
      throw new RouteAnnotationError(
        `Annotation "${annotation}": expected names of backendRefs with numbers, such as "primary=0, fallback=1", got "${part.trim()}"`,
      );
    }),
  );
}

/** Returns an object with the objects of one of its lists mapped. */
function mapObjects(
  owner: JsonObject,
  name: string,
  map: (item: JsonObject) => JsonObject,
): JsonObject {
  const list = owner[name];
  if (!Array.isArray(list)) return owner;
  const mapped = list.map((item: unknown) =>
    isJsonObject(item) ? map(item) : item
  );
  return { ...owner, [name]: mapped };
}
